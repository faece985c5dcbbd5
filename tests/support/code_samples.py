"""Code of every language that is parsed, its definitions marked."""

from __future__ import annotations

import re
from textwrap import dedent

from operators.sources.chunking.code_breaks import Breaks, Definition, breaks

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
}


def sample(language: str) -> str:
    return dedent(SAMPLES[language]).lstrip("\n")


def parsed(text: str, language: str) -> Breaks:
    tsx = language == "tsx"
    found = breaks(text, "typescript" if tsx else language, "a.tsx" if tsx else None)
    assert isinstance(found, Breaks)
    return found


def marked(text: str) -> list[Definition]:
    """The definitions that the marks of a sample tell."""
    found, opened = [], []
    for number, line in enumerate(text.split("\n")):
        if not (mark := re.search(r"@@([\w.:<>]*)(@*)", line)):
            continue
        if mark[1]:
            opened.append((number, mark[1]))
        for _ in range(0 if mark[1] else 1 + len(mark[2])):
            first, name = opened.pop()
            found.append(Definition(first, number, name))
    return sorted([*found, *(Definition(first, -1, name) for first, name in opened)])


def check(text: str, found: Breaks) -> None:
    lines = text.split("\n")
    assert len(found.depths) == len(lines)
    assert min(found.depths) >= 0
    assert found.depths[0] == 0
    for definition in found.definitions:
        assert 0 <= definition.first <= definition.last < len(lines)
    assert found.definitions == sorted(found.definitions, key=lambda d: (d.first, -d.last))
    assert len(found.innermost()) == len(lines)
