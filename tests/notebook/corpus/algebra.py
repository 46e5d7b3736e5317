"""SymPy and networkx: formulas and graphs."""
# ruff: noqa
# fmt: off

# %% import
import sympy as sp
x, y, z = sp.symbols("x y z")

# %% expression
(x + y) ** 2

# %% expand-and-factor
sp.expand((x + 1) ** 3), sp.factor(x ** 2 - 1)

# %% simplify
sp.simplify(sp.sin(x) ** 2 + sp.cos(x) ** 2)

# %% derivative
sp.diff(sp.exp(x) * sp.sin(x), x)

# %% integral-unevaluated
sp.Integral(sp.exp(-x ** 2), (x, 0, sp.oo))

# %% integral
sp.integrate(sp.exp(-x ** 2), (x, 0, sp.oo))

# %% limit
sp.limit(sp.sin(x) / x, x, 0)

# %% series
sp.series(sp.cos(x), x, 0, 6)

# %% solve
sp.solve(x ** 2 - 2, x)

# %% solveset
sp.solveset(sp.sin(x), x, domain=sp.S.Reals)

# %% linear-system
sp.linsolve([x + y - 3, x - y - 1], x, y)

# %% equation
sp.Eq(x ** 2, 4)

# %% matrix
M = sp.Matrix([[1, x], [y, 2]])
M

# %% matrix-det-inverse
M.det(), M.inv()

# %% eigenvalues
sp.Matrix([[2, 1], [1, 2]]).eigenvals()

# %% rational
sp.Rational(1, 3) + sp.Rational(1, 6)

# %% numeric
sp.pi.evalf(30), sp.N(sp.sqrt(2))

# %% substitution
((x + 1) ** 2).subs(x, 3), (x * y).subs({x: 2, y: 5})

# %% lambdify
sp.lambdify(x, sp.sin(x) ** 2, "numpy")(0.5).round(4)

# %% differential-equation
f = sp.Function("f")
sp.dsolve(f(x).diff(x) - f(x), f(x))

# %% summation
sp.summation(1 / sp.Symbol("n", positive=True) ** 2, (sp.Symbol("n", positive=True), 1, sp.oo))

# %% piecewise
sp.Piecewise((x, x > 0), (-x, True))

# %% logic
sp.And(x > 1, x < 3)

# %% primes
sp.isprime(97), sp.factorint(360), list(sp.primerange(10, 30))

# %% init-printing
sp.init_printing()
sp.sqrt(x ** 2 + 1) / y

# %% init-printing-list
[x ** 2, sp.Rational(1, 2)]

# %% init-printing-tuple-and-dict
{x: y ** 2}

# %% init-printing-float
3.5

# %% init-printing-int
7

# %% init-printing-matrix
sp.Matrix([1, x])

# %% init-printing-plain
sp.init_printing(use_latex=False)
x ** 2

# %% init-printing-png
sp.init_printing(use_latex="png")
x ** 2

# %% init-printing-mathjax
sp.init_printing(use_latex="mathjax")
x ** 2

# %% init-session
sp.init_session(quiet=True)

# %% still-inline-after-init-session
import matplotlib.pyplot as plt
plt.plot([1, 2]);

# %% [ipython] inline-after-init-session
# plt.close("all")
# %matplotlib inline

# %% pprint
sp.pprint(sp.Integral(x ** 2, x))

# %% latex-text
print(sp.latex(sp.Integral(x ** 2 / y, x)))

# %% display-math
from IPython.display import Math, display
display(Math(sp.latex(x / y)))

# %% python-code
print(sp.python(x ** 2), sp.ccode(x ** 2), sep="\n")

# %% parse
sp.sympify("x**2 + sin(y)")

# %% parse-error
sp.sympify("x +")

# %% plot
sp.plot(sp.sin(x), (x, -3, 3))

# %% plot-3d
from sympy.plotting import plot3d
plot3d(x * y, (x, -1, 1), (y, -1, 1), n=10)

# %% geometry
sp.Point(0, 0).distance(sp.Point(3, 4)), sp.Circle(sp.Point(0, 0), 2).area

# %% units
from sympy.physics.units import meter, second, convert_to, kilometer, hour
convert_to(10 * meter / second, kilometer / hour)

# %% probability
from sympy.stats import Die, E
E(Die("D", 6))

# %% assumptions
sp.sqrt(sp.Symbol("p", positive=True) ** 2)

# %% set-values
sp.Interval(0, 1).union(sp.FiniteSet(2))

# %% truth-error
bool(x > 1)

# %% graph
import networkx as nx
import matplotlib.pyplot as plt
G = nx.Graph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
G

# %% graph-print
print(G)

# %% graph-nodes
G.nodes, G.edges

# %% degrees
dict(G.degree), nx.density(G)

# %% draw
nx.draw(G, with_labels=True, node_color="lightblue")
plt.show()

# %% draw-layouts
fig, axes = plt.subplots(1, 3, figsize=(9, 3))
nx.draw_circular(G, ax=axes[0])
nx.draw_spectral(G, ax=axes[1])
nx.draw_networkx(G, nx.shell_layout(G), ax=axes[2])
plt.show()

# %% draw-weights
W = nx.DiGraph()
W.add_weighted_edges_from([("a", "b", 2.0), ("b", "c", 1.5), ("a", "c", 5.0)])
positions = nx.spring_layout(W, seed=3)
nx.draw(W, positions, with_labels=True)
nx.draw_networkx_edge_labels(W, positions, edge_labels=nx.get_edge_attributes(W, "weight"))
plt.show()

# %% shortest-path
nx.shortest_path(W, "a", "c", weight="weight"), nx.shortest_path_length(G, "a", "d")

# %% no-path
nx.shortest_path(W, "c", "a")

# %% missing-node
list(G.neighbors("zebra"))

# %% centrality
{k: round(v, 3) for k, v in nx.betweenness_centrality(G).items()}, nx.pagerank(W)["c"] > 0.3

# %% communities
K = nx.karate_club_graph()
[len(c) for c in nx.community.greedy_modularity_communities(K)]

# %% generators
nx.complete_graph(4).number_of_edges(), nx.erdos_renyi_graph(10, 0.3, seed=1).number_of_nodes()

# %% spanning-tree-and-flow
nx.minimum_spanning_tree(K).number_of_edges(), nx.maximum_flow_value(W, "a", "c", capacity="weight")

# %% adjacency
nx.to_numpy_array(G), nx.to_pandas_adjacency(G)

# %% to-pandas
nx.to_pandas_edgelist(W)

# %% from-pandas
import pandas as pd
nx.from_pandas_edgelist(pd.DataFrame({"source": ["a"], "target": ["b"]}))

# %% files
nx.write_gml(G, "graph.gml")
nx.read_gml("graph.gml").number_of_nodes()

# %% topological-sort
list(nx.topological_sort(W)), nx.is_directed_acyclic_graph(W)

# %% text-tree
nx.write_network_text(nx.balanced_tree(2, 2))

# %% graphviz
nx.nx_agraph.graphviz_layout(G)
