//! Mutation of Python that no template would write.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use proptest::prelude::*;
use tadpole_scenarios::world::{MutationError, Operator, PythonSource, mutants};

/// All results of one operator on the body of `def f(a, b):`.
fn check(body: &str, operator: Operator, expected: &[&str]) {
    let head = "def f(a, b):\n    ";
    let source = format!("{head}{}\n", body.replace('\n', "\n    "));
    let found: Vec<String> = mutants(&source, "f")
        .unwrap()
        .into_iter()
        .filter(|mutant| mutant.operator == operator)
        .map(|mutant| mutant.source.strip_prefix(head).unwrap_or("").trim_end().replace("\n    ", "\n"))
        .collect();
    assert_eq!(found, expected, "{body}");
}

#[test]
fn each_operator_does_what_its_name_says() {
    use Operator as O;
    check("return a < b", O::ComparisonFlip, &["return a > b"]);
    check("return a not in b", O::ComparisonFlip, &["return a in b"]);
    check("return a is b", O::ComparisonFlip, &["return a is not b"]);
    check(
        "return 1 < a <= b",
        O::OffByOne,
        &["return 0 < a <= b", "return 2 < a <= b", "return 1 <= a <= b", "return 1 < a < b"],
    );
    check("return a // b", O::ArithmeticSwap, &["return a * b"]);
    check("a -= b", O::ArithmeticSwap, &["a += b"]);
    check("return a and b", O::BooleanSwap, &["return a or b"]);
    check("return True", O::BooleanSwap, &["return False"]);
    check("return a", O::WrongVariable, &["return b"]);
    check("return g(a.b, k=a)", O::WrongVariable, &["return g(b.b, k=a)", "return g(a.b, k=b)"]);
    check("return 5", O::WrongConstant, &["return 10", "return 7"]);
    check("return 'ab'", O::WrongConstant, &["return 'a'"]);
    check("return g(a, b, k=1)", O::SwappedArguments, &["return g(b, a, k=1)"]);
    check("return-a", O::RemovedNegation, &["return a"]);
    check("return not a", O::RemovedNegation, &["return a"]);
    check("g(a)\nreturn b", O::DroppedStatement, &["return b", "g(a)"]);
    check("if a:\n    g(b)", O::DroppedStatement, &["if a:\n    pass"]);
    check(
        "return a[:b]",
        O::SliceBound,
        &["return a[1:b]", "return a[:]", "return a[:b + 1]", "return a[:b - 1]"],
    );
    check(
        "return a[b:]",
        O::SliceBound,
        &["return a[:]", "return a[b + 1:]", "return a[b - 1:]", "return a[b:-1]"],
    );
    check("return a + b", O::ReturnValue, &["return None", "return a", "return a + b + 1", "return b"]);
    check("if a:\n    return b\nreturn a", O::MissingBranch, &["return a"]);
    check("return a + 1 if b else 0", O::MissingBranch, &["return 0", "return a + 1"]);
    check(
        "if a:\n    g()\nelif b:\n    h()\nelse:\n    k()",
        O::MissingBranch,
        &["if a:\n    g()\nelse:\n    k()", "if a:\n    g()\nelif b:\n    h()"],
    );
}

#[test]
fn nested_functions_docstrings_and_types_are_left_alone() {
    let source = "def f(a: int = 3) -> int:\n    'Doc 5.'\n    b: int = g(a)\n    def h(c):\n        return c + 8\n    return b\n";
    for mutant in mutants(source, "f").unwrap() {
        assert!(
            mutant.source.contains("'Doc 5.'") && mutant.source.contains("return c + 8"),
            "{}",
            mutant.source
        );
        assert!(mutant.source.starts_with("def f(a: int = 3) -> int:"), "{}", mutant.source);
    }
}

#[test]
fn faults_in_the_request_are_typed() {
    assert_eq!(mutants("def f(:\n", "f"), Err(MutationError::NotPython { line: 1 }));
    assert_eq!(mutants("x = 1\n", "f"), Err(MutationError::NoSuchFunction("f".into())));
    assert_eq!(mutants("", "f"), Err(MutationError::NoSuchFunction("f".into())));
}

#[test]
fn deep_nesting_does_not_overflow() {
    let (open, close) = ("(".repeat(3000), ")".repeat(3000));
    let source = format!("def f(a):\n    return {open}a{close}\n");
    assert!(!mutants(&source, "f").unwrap().is_empty());
}

/// Statements of kinds that templates do not have, each legal in a function of `a` and `b`.
const STATEMENTS: &[&str] = &[
    "with open(a) as h: b = h.read(3)",
    "try:\n    a = b[1:-1:2]\nexcept (ValueError, KeyError) as e:\n    raise RuntimeError('x') from e\nfinally:\n    b = -a",
    "if(a)and not(b):return-1\nelif a: pass\nelse: b=2",
    "x = 1; y = a if(b)else'q'",
    "while(n := a - 1) > 0: a -= 1; break",
    "f'{a!r:>{b}} {a + 1}'",
    "print(*a, **b, sep=', ')  # 'note'",
    "assert a in(1, 2), 'no'",
    "c, *d = [i * 2 for i in a if i % 2 == 0 and i not in b]",
    "b = {**a, 'k': 0x1f, \"é\": 1_000}",
    "lambda v, w=2: v + w",
    "for i, (j, k) in enumerate(zip(a, b)):\n    if i == 0: continue\n    a[i:j] = b[k]\nelse:\n    a = not b",
    "match a:\n    case 0 | -1:\n        b = 2\n    case [x, 'y']:\n        return x\n    case _:\n        pass",
    "return(a+\\\n    b)",
    "async def g(): await a",
    "global q\nq = a @ b ** -2",
    "del a[0]",
    "yield a, b",
    "'a string' 'another'",
];

proptest! {
    #[test]
    fn mutants_of_any_function_parse(
        chosen in prop::collection::vec(prop::sample::select(STATEMENTS), 1..5),
        ending in prop::sample::select(vec!["\n", "\r\n"]),
        indent in prop::sample::select(vec!["    ", "\t", " "]),
        last in any::<bool>(),
    ) {
        let lines: Vec<String> = chosen
            .iter()
            .flat_map(|statement| statement.lines())
            .map(|line| {
                let inner = line.len() - line.trim_start().len();
                format!("{indent}{}{}", indent.repeat(inner / 4), line.trim_start())
            })
            .collect();
        let mut source = format!("@wrap\ndef f(a, b=1, *args):\n{}", lines.join("\n")).replace('\n', ending);
        if last {
            source.push_str(ending);
        }
        for mutant in mutants(&source, "f").unwrap() {
            prop_assert!(PythonSource::parse(&mutant.source).is_ok(), "{}\n{}", mutant.description, mutant.source);
            prop_assert_ne!(&mutant.source, &source);
        }
    }

    #[test]
    fn any_text_is_mutated_or_refused(text in "[defab(): \n\t+<=1\"'\\[\\]]{0,60}") {
        let source = format!("def f(a):\n {text}\n");
        if let Ok(mutants) = mutants(&source, "f") {
            prop_assert!(mutants.iter().all(|mutant| mutant.source != source));
        }
    }
}
