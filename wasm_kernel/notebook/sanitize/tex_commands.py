"""The TeX commands and environments that stay live: symbols, operators, fonts, layout of formulas.

Not here on purpose: whatever links, styles, names, loads, defines or draws outside its line
(``href``, ``style``, ``class``, ``cssId``, ``require``, ``def``, ``bbox``, ``raise``, ``Rule``…).
"""

from __future__ import annotations

from wasm_kernel.notebook.sanitize.words import words

ENVIRONMENTS = words(
    """
    align alignat aligned alignedat array bmatrix Bmatrix cases dcases eqnarray equation gather
    gathered matrix multline pmatrix rcases smallmatrix split subarray vmatrix Vmatrix
    """
)

_LETTERS = """
alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa varkappa lambda mu nu
xi omicron pi varpi rho varrho sigma varsigma tau upsilon phi varphi chi psi omega
Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho Sigma Tau
Upsilon Phi Chi Psi Omega digamma aleph beth gimel daleth ell hbar hslash imath jmath Re Im wp eth
mho Finv Game complement partial nabla infty emptyset varnothing forall exists nexists neg lnot top
bot angle measuredangle sphericalangle triangle square blacksquare diamond lozenge bigstar star
prime backprime degree circledS checkmark maltese dagger ddagger flat natural sharp clubsuit
diamondsuit heartsuit spadesuit surd AA S P copyright pounds yen
"""

_RELATIONS = """
le leq leqq leqslant ge geq geqq geqslant ne neq equiv approx approxeq sim simeq cong propto asymp
doteq triangleq ll lll gg ggg lt gt prec preceq succ succeq subset subseteq subsetneq supset
supseteq supsetneq sqsubset sqsubseteq sqsupset sqsupseteq in ni notin mid nmid parallel nparallel
perp vdash dashv models smile frown bowtie between pitchfork vDash Vdash lesssim gtrsim lessgtr
gtrless not nleq ngeq nless ngtr nsim ncong nsubseteq nsupseteq lessapprox gtrapprox
"""

_OPERATORS = """
pm mp times div cdot cdotp ast star circ bullet oplus ominus otimes oslash odot dagger ddagger
amalg cap cup uplus sqcap sqcup vee wedge lor land setminus smallsetminus wr bigcirc bigtriangleup
bigtriangledown triangleleft triangleright ltimes rtimes barwedge veebar boxplus boxminus boxtimes
boxdot divideontimes intercal centerdot Cap Cup
sum prod coprod int iint iiint iiiint oint bigcap bigcup bigsqcup bigvee bigwedge bigodot
bigotimes bigoplus biguplus limits nolimits
arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup
injlim projlim varliminf varlimsup ln log max min Pr sec sin sinh sup tan tanh operatorname bmod mod
pmod pod
"""

_ARROWS = """
leftarrow gets rightarrow to leftrightarrow uparrow downarrow updownarrow Leftarrow Rightarrow
Leftrightarrow Uparrow Downarrow Updownarrow longleftarrow longrightarrow longleftrightarrow
Longleftarrow Longrightarrow Longleftrightarrow implies impliedby iff mapsto longmapsto
hookleftarrow hookrightarrow leftharpoonup leftharpoondown rightharpoonup rightharpoondown
rightleftharpoons leftrightharpoons nearrow searrow swarrow nwarrow rightsquigarrow leadsto
twoheadrightarrow xleftarrow xrightarrow nrightarrow nleftarrow nRightarrow nLeftarrow
curvearrowleft curvearrowright circlearrowleft circlearrowright upharpoonright
"""

_LAYOUT = """
frac dfrac tfrac cfrac genfrac binom dbinom tbinom choose over atop sqrt root of substack overset
underset stackrel overbrace underbrace overline underline overrightarrow overleftarrow
overleftrightarrow widehat widetilde hat check tilde acute grave dot ddot dddot ddddot breve bar vec
mathring cancel bcancel xcancel boxed
left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr
bigm Bigm biggm Biggm
langle rangle lceil rceil lfloor rfloor lbrace rbrace lbrack rbrack lvert rvert lVert rVert vert
Vert lgroup rgroup backslash lmoustache rmoustache ulcorner urcorner llcorner lrcorner
begin end hline hdashline cr newline displaystyle textstyle scriptstyle scriptscriptstyle
quad qquad thinspace medspace thickspace negthinspace negmedspace negthickspace enspace space
nobreakspace hspace phantom hphantom vphantom mathstrut
dots ldots cdots vdots ddots dotsb dotsc dotsi dotsm dotso hdots
color textcolor tag notag nonumber mathop mathbin mathrel mathord mathopen mathclose mathpunct
mathinner
"""

_FONTS = """
mathrm mathbf mathit mathsf mathtt mathcal mathscr mathbb mathfrak mathnormal boldsymbol bm bf rm it
sf tt cal scr frak Bbb text textrm textbf textit textsf texttt textnormal textup emph mbox hbox
tiny small normalsize large Large
"""

COMMANDS = frozenset(" ".join((_LETTERS, _RELATIONS, _OPERATORS, _ARROWS, _LAYOUT, _FONTS)).split())
