""""""

import re
import resource
import time
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.sources.chunking.code_breaks import (
    MAX_PARSED,
    Breaks,
    Definition,
    Unparsed,
    breaks,
    symbol,
)
from operators.sources.chunking.grammars import GRAMMARS

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


LANGUAGES = [name for name in GRAMMARS if name != "tsx"]


def sample(language: str) -> str:
    return dedent(SAMPLES[language]).lstrip("\n")


def parsed(text: str, language: str) -> Breaks:
    tsx = language == "tsx"
    found = breaks(text, "typescript" if tsx else language, "a.tsx" if tsx else None)
    assert isinstance(found, Breaks)
    return found


def peak_memory() -> int:
    """Bytes that this process held at most; the parser's child is another."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


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


@pytest.mark.parametrize(
    "text",
    [
        "(" * 30_000 + ")" * 30_000,
        "(\n" * 30_000 + ")\n" * 30_000,
        "(" * 30_000,
        "[" * 30_000 + "]" * 30_000,
        "if x:\n" + "".join(" " * n + "if x:\n" for n in range(1, 400)),
        "a <\n" * 20_000,
    ],
    ids=["parentheses", "on lines of their own", "unclosed", "brackets", "indented", "compared"],
)
@pytest.mark.parametrize("language", ["python", "java", "csharp", "c", "bash"])
def test_deep_nesting_is_quick(text: str, language: str) -> None:
    began = time.perf_counter()
    found = breaks(text, language)
    assert time.perf_counter() - began < 30
    if isinstance(found, Breaks):
        assert len(found.depths) == text.count("\n") + 1


def test_what_is_not_known_or_too_large_has_no_breaks() -> None:
    assert breaks("IDENTIFICATION DIVISION.\n", "cobol") is None
    assert breaks("x\n", None, "notes.txt") is None
    large = breaks("x = 1\n" * (MAX_PARSED // 6 + 1), "python")
    assert large == Unparsed(f"it is larger than {MAX_PARSED} bytes")


def test_a_text_that_takes_the_parser_too_much_is_given_up_and_the_next_one_is_parsed() -> None:
    before = peak_memory()
    began = time.perf_counter()
    assert breaks("a < " * 20_000, "java") == Unparsed("the grammar of java gave up")
    assert time.perf_counter() - began < 30
    assert peak_memory() - before < 100 << 20
    assert parsed("int f() {\n}\n", "c").definitions == [Definition(0, 1, "f")]


@pytest.mark.parametrize("text", ["", "\n", "\n\n", "x", "\r\n", "x = 1\r\ny = 2", "\udc80\0\n"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_line_of_any_text_has_a_depth(text: str, language: str) -> None:
    assert len(parsed(text, language).depths) == text.count("\n") + 1


def check(text: str, found: Breaks) -> None:
    lines = text.split("\n")
    assert len(found.depths) == len(lines)
    assert min(found.depths) >= 0
    assert found.depths[0] == 0
    for definition in found.definitions:
        assert 0 <= definition.first <= definition.last < len(lines)
    assert found.definitions == sorted(found.definitions, key=lambda d: (d.first, -d.last))
    assert len(found.innermost()) == len(lines)


PIECES = sorted({line for text in SAMPLES.values() for line in dedent(text).split("\n")})


code = st.lists(st.sampled_from(PIECES) | st.text("(){}[]<>\"'`\\/*#:;=, aB1\t\r\0é€", max_size=20))


@given(code.map("\n".join), st.sampled_from(LANGUAGES))
@settings(max_examples=400, deadline=None)
def test_any_mixture_of_code_has_sane_breaks_the_same_each_time(text: str, language: str) -> None:
    found = parsed(text, language)
    check(text, found)
    assert breaks(text, language) == found


@given(st.data(), st.sampled_from(list(SAMPLES)))
@settings(max_examples=200, deadline=None)
def test_code_torn_anywhere_has_sane_breaks(data: st.DataObject, language: str) -> None:
    text = sample(language)
    at = data.draw(st.integers(0, len(text)))
    to = data.draw(st.integers(at, len(text)))
    torn = text[:at] + data.draw(st.text(max_size=3)) + text[to:]
    tsx = language == "tsx"
    found = breaks(torn, "typescript" if tsx else language, "a.tsx" if tsx else None)
    if isinstance(found, Breaks):  # a grammar may crash on torn code; then it is cut by lines
        check(torn, found)


def test_the_symbol_of_lines_is_the_definition_that_has_most_of_them() -> None:
    found = [
        Definition(0, 20, "A"),
        Definition(2, 5, "A.f"),
        Definition(6, 9, "A.g"),
        Definition(22, 23, "h"),
    ]
    assert symbol(found, 0, 20) == "A"
    assert symbol(found, 3, 4) == "A.f"
    assert symbol(found, 2, 9) == "A"
    assert symbol(found, 8, 9) == "A.g"
    assert symbol(found, 21, 30) == "h"
    assert symbol(found, 24, 30) is None
    assert symbol([], 0, 9) is None
