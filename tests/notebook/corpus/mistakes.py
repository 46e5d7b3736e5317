"""What beginners get wrong, a line or two each: the kernels agree on every error."""
# ruff: noqa
# fmt: off

# %% [ipython] import-math
# import math
# x = 3

# %% [ipython] dict-dict-format-1
# "{} {}".format(1)

# %% [ipython] percent-d-percent-a
# "%d" % "a"

# %% [ipython] percent-s-percent-s-percent-1
# "%s %s" % (1,)

# %% [ipython] f-1-abc
# f"{1:abc}"

# %% [ipython] int-a-float-x
# int("a"), float("x")

# %% [ipython] float-x
# float("x")

# %% [ipython] a-plus-1
# "a" + 1

# %% [ipython] 1-plus-a
# 1 + "a"

# %% [ipython] 1-plus-2
# [1] + (2,)

# %% [ipython] len-5
# len(5)

# %% [ipython] abc-10
# "abc"[10]

# %% [ipython] abc-a
# "abc"["a"]

# %% [ipython] 1-2-0-1
# (1, 2)[0] = 1

# %% [ipython] dict-a
# {}["a"]

# %% [ipython] list-1
# {[]: 1}

# %% [ipython] hash-list
# hash([])

# %% [ipython] none-foo
# None.foo

# %% [ipython] abc-foocall
# "abc".foo()

# %% [ipython] for-i-in-5-pass
# for i in 5: pass

# %% [ipython] x-y-1
# x, y = 1

# %% [ipython] x-y-1-2-3
# x, y = 1, 2, 3

# %% [ipython] a-times-b-list
# a, *b = []

# %% [ipython] def-f-a-b-pass
# def f(a, b): pass
# f(1)

# %% [ipython] f-1-2-3
# f(1, 2, 3)

# %% [ipython] f-c-1
# f(c=1)

# %% [ipython] f-1-a-2
# f(1, a=2)

# %% [ipython] f-times-5
# f(*5)

# %% [ipython] f-power5
# f(**5)

# %% [ipython] abc-1
# "abc" > 1

# %% [ipython] sorted-1-a
# sorted([1, "a"])

# %% [ipython] sum-a
# sum(["a"])

# %% [ipython] max-list
# max([])

# %% [ipython] max-1
# max(1)

# %% [ipython] int-list
# int([])

# %% [ipython] int-12-base-50
# int("12", base=50)

# %% [ipython] chr-1
# chr(-1)

# %% [ipython] ord-ab
# ord("ab")

# %% [ipython] bytes-a
# bytes("a")

# %% [ipython] b-a-plus-b
# b"a" + "b"

# %% [ipython] encode-ascii
# "é".encode("ascii")

# %% [ipython] open-a-txt-q
# open("a.txt", "q")

# %% [ipython] open-a-txt-write-x
# open("a.txt").write("x")

# %% [ipython] iter-5
# iter(5)

# %% [ipython] next-iter-list
# next(iter([]))

# %% [ipython] next-5
# next(5)

# %% [ipython] 5call
# 5()

# %% [ipython] a-call
# "a"()

# %% [ipython] 1-2-3-remove-9
# [1, 2, 3].remove(9)

# %% [ipython] list-popcall
# [].pop()

# %% [ipython] 1-index-2
# [1].index(2)

# %% [ipython] dict-popitemcall
# {}.popitem()

# %% [ipython] setcall-popcall
# set().pop()

# %% [ipython] abc-index-z
# "abc".index("z")

# %% [ipython] raise
# raise

# %% [ipython] raise-x
# raise "x"

# %% [ipython] raise-valueerror
# raise ValueError

# %% [ipython] raise-exception-a-1
# raise Exception("a", 1)

# %% [ipython] assert-false
# assert False

# %% [ipython] assert-1-equals-2-msg
# assert (1 == 2), "msg"

# %% [ipython] del-nope
# del nope

# %% [ipython] import-nope
# import nope

# %% [ipython] from-math-import-nope
# from math import nope

# %% [ipython] from-os-path-import-nope
# from os.path import nope

# %% [ipython] import-os-nope
# import os.nope

# %% [ipython] from-import-x
# from . import x

# %% [ipython] isinstance-1-int
# isinstance(1, "int")

# %% [ipython] supercall-x
# super().x

# %% [ipython] class-a-1-pass
# class A(1): pass

# %% [ipython] class-a-object-int-pass
# class A(object, int): pass

# %% [ipython] def-mcall-pass
# class A:
#     def m(): pass
# A().m()

# %% [ipython] a-m-1
# A.m(1)

# %% [ipython] from-abc-import-abc-abstractmeth
# from abc import ABC, abstractmethod
# class B(ABC):
#     @abstractmethod
#     def f(self): ...
# B()

# %% [ipython] objectcall-x-1
# object().x = 1

# %% [ipython] slots-a
# class Sl:
#     __slots__ = ("a",)
# Sl().b = 1

# %% [ipython] int-x-1
# int.x = 1

# %% [ipython] 1-real-2
# 1 .real = 2

# %% [ipython] lambda-yield
# lambda: (yield)

# %% [ipython] math-sqrt-1
# math.sqrt(-1)

# %% [ipython] math-log-0
# math.log(0)

# %% [ipython] 10-power-400-times-1-0
# 10 ** 400 * 1.0

# %% [ipython] 2-0-power-10000
# 2.0 ** 10000

# %% [ipython] 1-percent-0
# 1 % 0

# %% [ipython] 1-0-0
# 1.0 // 0

# %% [ipython] 0-power-1
# 0 ** -1

# %% [ipython] 8-power-1-3
# (-8) ** (1/3)

# %% [ipython] round-a
# round("a")

# %% [ipython] pow-2-1-4
# pow(2, -1, 4)

# %% [ipython] 1-shift-1
# 1 << -1

# %% [ipython] range-1-0
# range(1.0)

# %% [ipython] range-0-1-0
# range(0, 1, 0)

# %% [ipython] 1-2-3-1-0
# [1, 2, 3][1.0]

# %% [ipython] 1-2-3-0
# [1,2,3][::0]

# %% [ipython] a-times-b
# "a" * "b"

# %% [ipython] a-b
# "a" - "b"

# %% [ipython] a
# -"a"

# %% [ipython] tilde-1-0
# ~1.0

# %% [ipython] not-definedcall
# not_defined()

# %% [ipython] print-hello
# print "hello"

# %% [ipython] if-true-print-1
# if True print(1)

# %% [ipython] x-1
# x = = 1

# %% [ipython] for-i-in-range-3
# for i in range(3)
#     print(i)

# %% [ipython] def-f
# def f(:

# %% [ipython] 1-2
# (1, 2

# %% [ipython] abc
# "abc

# %% [ipython] abc-2
# '''abc

# %% [ipython] x-5-plus
# x = 5 +

# %% [ipython] 1-x
# 1 = x

# %% [ipython] fcall-1
# f() = 1

# %% [ipython] none-1
# None = 1

# %% [ipython] class-1
# class = 1

# %% [ipython] if-x-1-pass
# if x = 1: pass

# %% [ipython] else-pass
# else: pass

# %% [ipython] break
# break

# %% [ipython] continue
# continue

# %% [ipython] yield-1
# yield 1

# %% [ipython] return-1
# return 1

# %% [ipython] def-f-a-1-b-pass
# def f(a=1, b): pass

# %% [ipython] f-a-1-2
# f(a=1, 2)

# %% [ipython] def-f-a-a-pass
# def f(a, a): pass

# %% [ipython] global-x
# global x
# x = 1

# %% [ipython] def-fcall
# def f():
#     x = 1
#     global x

# %% [ipython] nonlocal-x
# nonlocal x

# %% [ipython] def-fcall-2
# def f():
# print(1)

# %% [ipython] x-1-2
#   x = 1

# %% [ipython] if-true
# if True:
#     x = 1
#   y = 2

# %% [ipython] x-1-3
# x = 1
# 	y = 2

# %% [ipython] 1-2-3
# {1, 2: 3}

# %% [ipython] x-for-x-in-range-3-if
# [x for x in range(3) if]

# %% [ipython] f-dict
# f"{}"

# %% [ipython] f-x
# f"{x"

# %% [ipython] f-xbang-z
# f"{x!z}"

# %% [ipython] 0123
# 0123

# %% [ipython] 1
# 1_

# %% [ipython] 1abc
# 1abc

# %% [ipython] a-b-2
# a b

# %% [ipython] xplus-plus
# x++

# %% [ipython] x-yplus-plus
# x = y++

# %% [ipython] curly-quote-hello
# “hello”

# %% [ipython] print-curly-quote-hello
# print(“hello”)

# %% [ipython] dollar-x
# $x

# %% [ipython] aquestion-b
# a?b

# %% [ipython] import-a-as
# import a as

# %% [ipython] from-x-import
# from x import

# %% [ipython] try
# try:
#     x

# %% [ipython] async-def-fcall-pass
# async def f(): pass
# f()

# %% [ipython] with-open-a-txt
# with open("a.txt"):

# %% [ipython] match-1
# match 1:
#     case 1: print("one")

# %% [ipython] del-fcall
# del f()

# %% [ipython] times-a-1
# *a = 1

# %% [ipython] lambda-x-return-x
# lambda x: return x

# %% [ipython] assert-1-a
# assert(1, "a")

# %% [ipython] x-int-a-x
# x: int = "a"; x

# %% [ipython] print-x-walrus-3
# print(x := 3)

# %% [ipython] def-f-x-y-times-z-return-x-y-z
# def f(x, /, y, *, z): return x, y, z
# f(1, 2, z=3), f(x=1, y=2, z=3)

# %% [ipython] exec-1-plus
# exec("1 +")

# %% [ipython] eval-x-1
# eval("x = 1")

# %% [ipython] compile-a-b-f-exec
# compile("a b", "f", "exec")

# %% [ipython] int-from-bytes-b-ab-5-to-bytesca
# int.from_bytes(b"ab"), (5).to_bytes()

# %% [ipython] type-x-call-a-1-call-a
# type("X", (), {"a": 1})().a
