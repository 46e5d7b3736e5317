"""The grammar of shell lines: a text becomes lists of pipelines of commands.

A word stays a list of pieces, each with the way it was quoted, until it is expanded.
"""

import re
from dataclasses import dataclass, field

from wasm_guest.text_tools import unescaped

_OPERATOR = re.compile(r"&>>|&>|&&|&|\|\||\|&|\||;;|;|\(|\)|\n|(\d*)(<<<|<<-?|>>|>&|>\||>|<)")
_ESCAPED_TEXT = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_ENDS = frozenset({"then", "elif", "else", "fi", "do", "done", "}", ")", ";;", "esac"})
_UNKNOWN = frozenset({"case", "select", "function"})


class ShellSyntaxError(ValueError):
    """The text is not understood."""


@dataclass
class Command:
    """One command: a simple one, or a compound with its parts."""

    kind: str
    words: list | None = None
    assignments: list = field(default_factory=list)
    body: list = field(default_factory=list)
    branches: list = field(default_factory=list)
    name: str = ""
    redirections: list = field(default_factory=list)
    is_until: bool = False
    is_negated: bool = False


def parse(text):
    """The list of a text: how each pipeline follows the one before, and its commands."""
    reader = _Reader(_tokens(text.replace("\\\n", " ")))
    items = reader.items()
    if reader.token is not None:
        raise ShellSyntaxError(f"syntax error near '{reader.shown()}'")
    return items


# Tokens: ("word", pieces) or ("operator", text, number).


def _tokens(text):
    tokens, place, waiting = [], 0, []
    while place < len(text):
        character = text[place]
        if character in " \t\r":
            place += 1
        elif character == "#":
            end = text.find("\n", place)
            place = len(text) if end < 0 else end
        elif (found := _OPERATOR.match(text, place)) and found[0]:
            place = found.end()
            operator = found[2] or found[0]
            tokens.append(("operator", operator, int(found[1]) if found[1] else None))
            if operator.startswith("<<") and operator != "<<<":
                waiting.append(len(tokens))
            if operator == "\n" and waiting:
                place = _here_documents(text, place, tokens, waiting)
        else:
            pieces, place = _word(text, place)
            tokens.append(("word", pieces))
    return tokens


def _here_documents(text, place, tokens, waiting):
    for index in waiting:
        pieces = tokens[index][1]
        end = "".join(piece for piece, _ in pieces)
        lines = []
        while place < len(text):
            stop = text.find("\n", place)
            stop = len(text) if stop < 0 else stop
            line, place = text[place:stop], stop + 1
            if line.strip() == end:
                break
            lines.append(line + "\n")
        quoting = "double" if all(quoting == "raw" for _, quoting in pieces) else "single"
        tokens[index] = ("word", [("".join(lines), quoting)])
    waiting.clear()
    return place


def _word(text, place):
    pieces, start = [], place
    while place < len(text):
        character = text[place]
        if character in " \t\r\n;&|<>()":
            break
        if text.startswith("$'", place):
            end = _escaped_end(text, place + 2)
            content = unescaped(text[place + 2 : end]).replace("\\'", "'")
            pieces.append((content, "single"))
            place = end + 1
        elif character == "'":
            end = _closing(text, place + 1, "'")
            pieces.append((text[place + 1 : end], "single"))
            place = end + 1
        elif character == '"':
            content, place = _double(text, place + 1)
            pieces.append((content, "double"))
        elif character == "\\":
            pieces.append((text[place + 1 : place + 2], "single"))
            place += 2
        elif (character == "$" and text[place + 1 : place + 2] in ("(", "{")) or character == "`":
            end = _substitution_end(text, place)
            pieces.append((text[place:end], "raw"))
            place = end
        else:
            pieces.append((character, "raw"))
            place += 1
    if place == start:
        raise ShellSyntaxError(f"syntax error near '{text[place]}'")
    return _joined(pieces), place


def _joined(pieces):
    joined = []
    for text, quoting in pieces:
        if joined and quoting == "raw" == joined[-1][1]:
            joined[-1] = (joined[-1][0] + text, "raw")
        else:
            joined.append((text, quoting))
    return joined


def _closing(text, place, mark):
    end = text.find(mark, place)
    if end < 0:
        raise ShellSyntaxError("No closing quotation")
    return end


def _escaped_end(text, place):
    found = _ESCAPED_TEXT.match(text, place)
    if found is None:
        raise ShellSyntaxError("No closing quotation")
    return found.end() - 1


def _double(text, place):
    start = place
    while place < len(text) and text[place] != '"':
        if text[place] == "\\":
            place += 2
        elif text[place : place + 2] in ("$(", "${") or text[place] == "`":
            place = _substitution_end(text, place)
        else:
            place += 1
    if place >= len(text):
        raise ShellSyntaxError("No closing quotation")
    return text[start:place], place + 1


def _substitution_end(text, place):
    """Where a ``$(…)``, ``${…}`` or backquoted text that begins here ends."""
    if text[place] == "`":
        return _closing(text, place + 1, "`") + 1
    opening = text[place + 1]
    closing, depth = {"(": ")", "{": "}"}[opening], 0
    for end in range(place + 1, len(text)):
        depth += (text[end] == opening) - (text[end] == closing)
        if depth == 0:
            return end + 1
    raise ShellSyntaxError(f"no closing '{closing}'")


class _Reader:
    """Reads commands from tokens."""

    def __init__(self, tokens):
        self._tokens = tokens
        self._place = 0

    @property
    def token(self):
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def shown(self):
        token = self.token
        return "end" if token is None else self._plain(token) or token[1]

    def _plain(self, token):
        """The text of a word that nothing in it is quoted of."""
        if token is not None and token[0] == "word" and len(token[1]) == 1:
            text, quoting = token[1][0]
            return text if quoting == "raw" else None
        return None

    def _is(self, *texts):
        token = self.token
        if token is None:
            return False
        return (token[1] if token[0] == "operator" else self._plain(token)) in texts

    def _take(self, text):
        if not self._is(text):
            raise ShellSyntaxError(f"syntax error near '{self.shown()}', '{text}' expected")
        self._place += 1

    def _skip_lines(self):
        while self._is("\n", ";"):
            self._place += 1

    def items(self):
        items, how = [], ";"
        self._skip_lines()
        while self.token is not None and not self._is(*_ENDS):
            items.append((how, self._pipeline()))
            how = ";"
            if self._is("&&", "||"):
                how = self.token[1]
                self._place += 1
                self._skip_lines()
            elif self._is(";", "\n", "&"):
                self._place += 1
                self._skip_lines()
            elif self.token is not None and not self._is(*_ENDS):
                raise ShellSyntaxError(f"syntax error near '{self.shown()}'")
        return items

    def _pipeline(self):
        is_negated = self._is("!")
        if is_negated:
            self._place += 1
        commands = [self._command()]
        while self._is("|", "|&"):
            self._place += 1
            self._skip_lines()
            commands.append(self._command())
        commands[0].is_negated = is_negated
        return commands

    def _command(self):
        word = self.token[1] if self._is("(") else self._plain(self.token)
        if word in _UNKNOWN:
            raise ShellSyntaxError(f"'{word}' is not available in the sandbox")
        read = {
            "if": self._if,
            "for": self._for,
            "while": self._while,
            "until": self._while,
            "{": self._group,
            "(": self._subshell,
        }.get(word)
        if read is None:
            return self._simple()
        self._place += 1
        command = read(word)
        while self.token is not None and self._redirection(command):
            pass
        return command

    def _if(self, _):
        branches = [(self.items(), self._after("then"))]
        while not self._is("fi"):
            if self._is("elif"):
                self._place += 1
                branches.append((self.items(), self._after("then")))
            else:
                branches.append((None, self._after("else")))
        self._take("fi")
        return Command("if", branches=branches)

    def _after(self, word):
        self._take(word)
        return self.items()

    def _body(self):
        self._skip_lines()
        body = self._after("do")
        self._take("done")
        return body

    def _for(self, _):
        name, words = self._plain(self.token), None
        self._place += 1
        if name is None or not name.isidentifier():
            raise ShellSyntaxError("syntax error after 'for'")
        if self._is("in"):
            self._place += 1
            words = []
            while self.token is not None and self.token[0] == "word":
                words.append(self.token[1])
                self._place += 1
        return Command("for", name=name, words=words, body=self._body())

    def _while(self, word):
        condition = self.items()
        return Command("while", branches=[(condition, self._body())], is_until=word == "until")

    def _group(self, _):
        body = self.items()
        self._take("}")
        return Command("group", body=body)

    def _subshell(self, _):
        body = self.items()
        self._take(")")
        return Command("subshell", body=body)

    def _simple(self):
        command = Command("simple", words=[])
        while self.token is not None:
            if self._redirection(command):
                continue
            if self.token[0] != "word":
                break
            if self._is("[[") and not command.words:
                self._test(command)
                continue
            pieces = self.token[1]
            text, quoting = pieces[0] if pieces else ("", "single")
            found = _ASSIGNMENT.match(text) if quoting == "raw" and not command.words else None
            if found:
                value = [(text[found.end() :], "raw"), *pieces[1:]]
                command.assignments.append((found[0][:-1], value))
            else:
                command.words.append(pieces)
            self._place += 1
        if not (command.words or command.assignments or command.redirections):
            raise ShellSyntaxError(f"syntax error near '{self.shown()}'")
        return command

    def _test(self, command):
        """Inside of ``[[ … ]]`` the operators are words."""
        while not self._is("]]"):
            if self.token is None:
                raise ShellSyntaxError("']]' expected")
            token = self.token
            command.words.append(token[1] if token[0] == "word" else [(token[1], "single")])
            self._place += 1
        self._place += 1

    def _redirection(self, command):
        token = self.token
        if token[0] != "operator" or token[1][-1:] not in "<>&|-" or token[1] in ("&", "&&"):
            return False
        if token[1] in ("|", "||", "|&"):
            return False
        _, operator, number = token
        self._place += 1
        if self.token is None or self.token[0] != "word":
            raise ShellSyntaxError(f"syntax error near '{self.shown()}'")
        operator = {"<<-": "<<", ">|": ">"}.get(operator, operator)
        command.redirections.append((number, operator, self.token[1]))
        self._place += 1
        return True
