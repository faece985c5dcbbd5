"""Code of every language that is parsed, its definitions marked."""

from __future__ import annotations

import re
from textwrap import dedent

from operators.sources.chunking.code_breaks import Breaks, breaks

# A line that a definition starts on is marked with its name behind "@@"; its last with "@@".
SAMPLES = {
    "python": '''
        """Module."""
        import os

        # about f @@f
        # more
        @decorated(
            1)
        def f(a,
              b):
            """Doc

            string."""
            if a:
                return b  # @@
        # about A @@A
        class A(B):
            x = 1

            async def g(self):  # @@A.g
                def inner():  # @@A.g.inner
                    pass  # @@
                return inner  # @@@
    ''',
    "javascript": """
        // about A @@A
        export default class A {
          #x = 1;
          /** @@A.m */
          async m(a) {
            return 1;
          } // @@
          h = () => { // @@A.h
            x();
          }; // @@
        } // @@
        export const f = async (a) => { // @@f
          return a;
        }; // @@
        const data = [
          1,
        ];
        function* g() { // @@g
          yield 2;
        } // @@
    """,
    "typescript": """
        export interface I { // @@I
          a: string;
        } // @@
        @Component({ // @@A
          a: 1
        })
        export class A<T> {
          // about m @@A.m
          @Input()
          m(a: T): void {
          } // @@
        } // @@
        namespace N.M { // @@N.M
          export type T = { // @@N.M.T
            a: number;
          }; // @@
        } // @@
    """,
    "tsx": """
        const View = (p: P) => { // @@View
          return <div>
            <b>{p.x}</b>
          </div>;
        }; // @@
    """,
    "go": """
        package main

        // Server is one. @@Server
        type Server struct {
            a int
        } // @@

        func (s *Server[T]) Run( // @@Server.Run
            a int) error {
            return nil
        } // @@

        func main() { // @@main
        } // @@
    """,
    "rust": """
        /// About P. @@P
        #[derive(Debug)]
        pub struct P<T> {
            a: T,
        } // @@

        impl<T> Display for P<T> { // @@P
            /// Doc. @@P::fmt
            #[inline]
            fn fmt(&self) -> u8 {
                1
            } // @@
        } // @@
        mod tests { // @@tests
            macro_rules! m { // @@tests::m
                () => {};
            } // @@
        } // @@
    """,
    "java": """
        package a;

        /** @@A */
        @Foo
        public class A {
          // @@A.m
          @Override
          public void m(int a) {
          } // @@
          enum E { // @@A.E
            A, B
          } // @@
        } // @@
    """,
    "c": """
        #ifndef H
        #define H
        /* a pair @@pair */
        typedef struct {
            int a;
        } pair; // @@
        struct s { // @@s
            int b;
        }; // @@
        struct s *g(int a);

        /** f @@f
         *  does */
        static struct s *f(int a,
            int b)
        {
            return 0;
        } // @@
        #endif
    """,
    "cpp": """
        namespace a::b { // @@a::b
        /// @@a::b::C
        template <typename T>
        class C : public D {
        public:
          int m() const { // @@a::b::C::m
            return 1;
          } // @@
        }; // @@
        int C<int>::n(int a) { // @@a::b::C<int>::n
        } // @@
        } // @@
    """,
    "csharp": """
        namespace A.B { // @@A.B
          /// @@A.B.C
          [Foo]
          public class C {
            [Bar] // @@A.B.C.M
            public int M(int a) {
              return 1;
            } // @@
            public int P { // @@A.B.C.P
              get { return 1; }
            } // @@
          } // @@
        } // @@
    """,
    "ruby": """
        # @@A
        module A
          class B < C # @@A::B
            # about m @@A::B::m
            def m(a)
              1
            end # @@
            def self.n # @@A::B::n
            end # @@
          end # @@
        end # @@
    """,
    "php": """
        <?php
        namespace A;

        /** @@C */
        class C {
          #[Foo] // @@C::m
          public function m($a) {
          } // @@
        } // @@
        function f() { // @@f
        } // @@
    """,
    "bash": """
        set -e
        # about f @@f
        f() {
          if true; then
            x
          fi
        } # @@
        function g { # @@g
          y
        } # @@
    """,
    "sql": """
        -- @@a.b
        CREATE TABLE a.b (
          x int,
          y int
        ); -- @@

        CREATE FUNCTION f(a int) RETURNS int AS $$ -- @@f
          SELECT 1;
        $$ LANGUAGE sql; -- @@
        SELECT 1
        FROM x;
    """,
    "elixir": """
        defmodule A.B do # @@A.B
          @moduledoc "About B"
          use X

          # about f @@A.B.f
          @doc "does"
          @spec f(integer) :: integer
          def f(a) when a > 1 do
            a
          end

          def f(b), do: b # @@
          defp g do # @@A.B.g
            1
          end # @@
          defmacro m(x) do # @@A.B.m
            quote do
            end
          end # @@
          defmodule C do # @@A.B.C
            def z, # @@A.B.C.z
              do: 1 # @@
          end # @@
        end # @@
        defimpl P, for: Integer do # @@P.Integer
          def q(x) do # @@P.Integer.q
            x
          end # @@
        end # @@
    """,
    "haskell": """
        module A.B (f) where

        import X

        -- | about f @@f
        f :: Int
          -> Int
        f 0 = 1
        -- the others
        f n =
          n + g n
          where
            g x = -- @@f.g
              1 -- @@@

        data D a = D1 { x :: Int } -- @@D
          | D2 -- @@
        class Eq a => C a where -- @@C
          m :: a -> Int -- @@C.m
          m x =
            2 -- @@@
        instance C Int where -- @@C.Int
          m x = -- @@C.Int.m
            let y =
                  2
            in y -- @@@

        main = do -- @@main
          print 1 -- @@
    """,
    "hcl": """
        # about web @@aws_instance.web
        resource "aws_instance" "web" {
          ami = "x"
          ebs {
            size = 1
          }
        } # @@
        variable "x" { # @@variable.x
          type = string
        } # @@
        locals { # @@locals
          a = {
            b = 1
          }
        } # @@
    """,
    "julia": """
        module A # @@A
        using X
        \"\"\" @@A.f
        about f
        \"\"\"
        function f(x::Int)::Int where T
            1
        end # @@
        g(x) = begin # @@A.g
            1
        end # @@
        # about S @@A.S
        mutable struct S{T} <: B
            a::T
        end # @@
        macro m(x) # @@A.m
            1
        end # @@
        function Base.show(io) # @@A.Base.show
            local x = 1
        end # @@
        end # @@
    """,
    "kotlin": """
        package a.b

        /** @@A */
        @Foo
        class A<T>(val x: Int) : B() {
            // about p @@A.p
            val p: Int
                get() {
                    return 1
                } // @@
            companion object {
                fun make(): A { // @@A.make
                    val local =
                        1
                    return A()
                } // @@
            }
            constructor(a: String) : this(1) { // @@A.constructor
            } // @@
            fun List<String>.joined(a: Int): Int { // @@A.List.joined
                return 1
            } // @@
            enum class E { // @@A.E
                X, Y;
                fun z() = // @@A.E.z
                    2 // @@
            } // @@
        } // @@
        object O { // @@O
        } // @@
        interface I { // @@I
            fun q( // @@I.q
                a: Int) // @@
        } // @@
        fun top(): Int = // @@top
            1 // @@
    """,
    "lua": """
        local M = {}
        -- about f @@M.f
        function M.f(a)
          return 1
        end -- @@
        function M:g() -- @@M.g
          local t = {
            1,
          }
        end -- @@
        local function h() -- @@h
          local function inner() -- @@h.inner
          end -- @@
        end -- @@
        M.k = function(x) -- @@M.k
          return x
        end -- @@
        local t = { -- @@t
          a = function() -- @@t.a
            return 1
          end, -- @@
        } -- @@
        return M
    """,
    "objc": """
        #import <X.h>

        /// @@A
        @interface A : B <P>
        @property int x;
        - (int)f:(int)a // @@A.f:with:
            with:(int)b; // @@
        @end // @@
        @implementation A // @@A
        // about f @@A.f:with:
        - (int)f:(int)a with:(int)b {
          return 1;
        } // @@
        + (void)g { // @@A.g
        } // @@
        @end // @@
        static int h(int a) { // @@h
          return 1;
        } // @@
    """,
    "ocaml": """
        open X

        (** about f @@f *)
        let rec f x =
          g x (* @@ *)
        and g y = (* @@g *)
          let h z = (* @@g.h *)
            z (* @@ *)
          in
          let v =
            3
          in
          h v (* @@ *)
        module M = struct (* @@M *)
          type t = { (* @@M.t *)
            a : int;
          } (* @@ *)
          let z () = (* @@M.z *)
            1 (* @@ *)
        end (* @@ *)
        class c = object (* @@c *)
          method m = (* @@c.m *)
            1 (* @@ *)
        end (* @@ *)
    """,
    "perl": """
        use strict;

        =head2 f @@f

        does

        =cut
        sub f {
          my ($x) = @_;
          return 1;
        } # @@
        package C { # @@C
          # about h @@C::h
          sub h {
          } # @@
        } # @@
    """,
    "scala": """
        package a.b

        /** @@A */
        @foo
        class A[T](x: Int) extends B {
          def f(a: Int): Int = { // @@A.f
            val local =
              1
            local
          } // @@
          implicit val v: Int = { // @@A.v
            2
          } // @@
        } // @@
        object A { // @@A
          type T = Map[ // @@A.T
            B, C] // @@
        } // @@
        trait Tr: // @@Tr
          def g(x: Int): Int = // @@Tr.g
            x // @@

          // about h @@Tr.h
          def h =
            2 // @@@
        enum E { // @@E
          case X, Y
        } // @@
        given ordered: Ord[Int] with // @@ordered
          def compare(x: Int) = // @@ordered.compare
            1 // @@@

        def top(x: Int): Int = // @@top
          x + 1 // @@
    """,
    "swift": """
        import Foundation

        /// @@A
        @objc
        public class A<T>: B {
            // about p @@A.p
            var p: Int {
                return 1
            } // @@
            init(a: Int) { // @@A.init
                let local = f {
                    a
                }
            } // @@
            func f(_ a: Int, // @@A.f
                   b: Int) -> Int {
                return 1
            } // @@
            struct S { // @@A.S
                let x: Int
            } // @@
        } // @@
        extension A where T: X { // @@A
            static func g() { // @@A.g
            } // @@
        } // @@
        protocol P { // @@P
            func q( // @@P.q
                a: Int) // @@
        } // @@
    """,
    "toml": """
        # about a @@a.b
        [a.b]
        x = [
          1,
        ] # @@

        # about c @@c
        [[c]]
        z = 2 # @@
    """,
    "yaml": """
        name: x
        jobs: # @@jobs
          # about build @@jobs.build
          build:
            steps:
              - run: 1
              - run: 2 # @@@

        # about env @@env
        env:
          - a
          - b # @@
    """,
    "zig": """
        const std = @import("std");
        /// About A. @@A
        pub const A = struct {
            x: u8,
            /// About f. @@A.f
            pub fn f(self: A) u8 {
                const y = g(
                    self);
                return y;
            } // @@
            const E = enum { // @@A.E
                a,
            }; // @@
        }; // @@
        pub fn List(comptime T: type) type { // @@List
            return struct {
                pub fn add() void { // @@List.add
                } // @@
            };
        } // @@
        test "it works" {
            f();
        }
    """,
}


def sample(language: str) -> str:
    return dedent(SAMPLES[language]).lstrip("\n")


def parsed(text: str, language: str) -> Breaks:
    tsx = language == "tsx"
    found = breaks(text, "typescript" if tsx else language, "a.tsx" if tsx else None)
    assert isinstance(found, Breaks)
    return found


def spans(found: Breaks) -> list[tuple[int, int, str]]:
    """The lines and names of the definitions."""
    return [definition[:3] for definition in found.definitions]


def marked(text: str) -> list[tuple[int, int, str]]:
    """The definitions that the marks of a sample tell."""
    found: list[tuple[int, int, str]] = []
    opened = []
    for number, line in enumerate(text.split("\n")):
        if not (mark := re.search(r"@@([\w.:<>]*)(@*)", line)):
            continue
        if mark[1]:
            opened.append((number, mark[1]))
        for _ in range(0 if mark[1] else 1 + len(mark[2])):
            first, name = opened.pop()
            found.append((first, number, name))
    return sorted([*found, *((first, -1, name) for first, name in opened)])


def check(text: str, found: Breaks) -> None:
    lines = text.split("\n")
    assert len(found.depths) == len(lines)
    assert min(found.depths) >= 0
    assert found.depths[0] == 0
    for definition in found.definitions:
        assert 0 <= definition.first <= definition.last < len(lines)
    assert found.definitions == sorted(found.definitions, key=lambda d: (d.first, -d.last))
    assert len(found.innermost()) == len(lines)
