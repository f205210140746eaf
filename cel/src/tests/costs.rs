//! What steps cost: no expression makes a step much more expensive than those of other expressions.

use std::time::Instant;

use super::*;

/// A list of one item, which `each` replaces this many times: values that share their parts.
fn again(first: &str, each: &str, times: usize) -> String {
    format!("[{first}]{}", format!(".map(x, {each})").repeat(times))
}

/// A text of 16 bytes, doubled this many times.
fn long(doubled: usize) -> String {
    again("\"aaaaaaaaaaaaaaaa\"", "x + x", doubled)
}

/// Expressions that are cheap by their shape, and what they do.
fn hostile() -> Vec<(&'static str, String)> {
    let ten = "[x, x, x, x, x, x, x, x, x, x]";
    let hundred = format!("[{}]", vec!["0"; 100].join(","));
    let deep = again("0", ten, 30);
    let loops =
        |body: &str| format!("{hundred}.all(a, {hundred}.all(b, {hundred}.all(c, {body})))");
    let text = long(12);
    let name = "n".repeat(6_000);
    let of_text = |body: &str| format!("{text}.all(t, {})", loops(body));
    let pattern = |pattern: &str| of_text(&format!("t.matches('{pattern}') || true"));
    let short = |pattern: &str| loops(&format!("'aab'.matches('{pattern}') || true"));
    vec![
        ("numbers", loops("1 < 2")),
        ("equality of shared parts", format!("{deep} == {deep}")),
        (
            "a shared value in a list",
            format!("{deep} in [{deep}, {deep}]"),
        ),
        (
            "the index of a shared value",
            format!("[{deep}].indexOf({deep}) == 0"),
        ),
        (
            "a shared value in words",
            format!("'%s'.format({deep}) == ''"),
        ),
        ("equality of texts", of_text("t == t")),
        ("a text in a list", of_text("t in [t, t, t, t]")),
        (
            "a text in a list of texts",
            format!("{text}.all(t, {hundred}.map(a, t).all(u, {hundred}.map(a, t).isSorted()))"),
        ),
        (
            "the largest text",
            format!("{text}.all(t, {hundred}.all(a, {hundred}.map(b, t).max() == t))"),
        ),
        (
            "the position of a text",
            of_text("t.indexOf(t.substring(1) + 'b') < 0"),
        ),
        (
            "the last position of a text",
            of_text("t.lastIndexOf('b' + t.substring(1)) < 0"),
        ),
        ("a text as a key", of_text("{t: 1, t: 2}[t] == 2")),
        (
            "a long field",
            loops(&format!(
                "!has({{}}.{name}) || {{'a': 1}}.?{name} != optional.none()"
            )),
        ),
        (
            "a long variable",
            format!("[1].all({name}, {})", loops(&format!("{name} == 1"))),
        ),
        ("parts of a text", of_text("t.split('').size() > 0")),
        (
            "texts together",
            format!(
                "{text}.all(t, {hundred}.all(a, {hundred}.map(b, t).join(t).size() > 0 || true))"
            ),
        ),
        (
            "a text in another one",
            of_text("t.replace('a', t).size() > 0 || true"),
        ),
        (
            "text in words",
            of_text("'%s%s%x'.format([t, t, t]).size() > 0 || true"),
        ),
        (
            "digits",
            loops("'%.100f%.100f%.100f'.format([1.0e300, 1.0e300, 1.0e300]) != ''"),
        ),
        ("upper case", of_text("t.upperAscii() != t")),
        (
            "JSON",
            of_text("('[' + t.replace('a', '1,') + '1]').parseJSON() != []"),
        ),
        (
            "versions",
            of_text("semver('1.0.0-' + t) == semver('1.0.0-' + t)"),
        ),
        (
            "one version",
            format!(
                "{text}.map(t, semver('1.0.0-' + t)).all(t, {})",
                loops("t == t && !t.isLessThan(t)")
            ),
        ),
        (
            "one URL",
            format!(
                "{text}.map(t, url('https://a/' + t)).all(t, {})",
                loops("t == t && t.getEscapedPath() != ''")
            ),
        ),
        (
            "a URL",
            of_text("url('https://a/' + t + '?' + t).getQuery() != {}"),
        ),
        (
            "an escaped path",
            of_text("url('/{' + t).getEscapedPath() != ''"),
        ),
        (
            "quantities",
            loops("quantity('1.5Gi').add(quantity('3')).isGreaterThan(quantity('1'))"),
        ),
        (
            "times",
            loops("timestamp('2020-01-01T00:00:00Z').getHours('-08:00') > 0"),
        ),
        ("durations", loops("duration('1h2m3s4ms') > duration('1s')")),
        ("addresses", loops("cidr('fd00::/8').containsIP('fd00::1')")),
        (
            "names",
            of_text("!format.dns1123Subdomain().validate(t).hasValue() || true"),
        ),
        ("a pattern", short("a*b")),
        ("a large pattern", short("(a{30}){30}")),
        ("a larger pattern", short("(a{80}){80}")),
        ("too large a pattern", short("((a{80}){80}){80}")),
        ("a pattern of a class", short("[^x]{30}")),
        ("a pattern of Unicode", short(r"\\pL")),
        (
            "a pattern of Unicode in any case",
            short(r"(?i)\\pL\\pL\\pL"),
        ),
        (
            "a pattern of classes in any case",
            short(r"(?i)[^x][^y][^z]"),
        ),
        ("a pattern on a text", pattern("(a|aa)*b")),
        ("a large pattern on a text", pattern("(a|b)*a(a|b){200}c")),
        ("a larger pattern on a text", pattern("(a|b)*a(a|b){900}c")),
        (
            "all of a pattern",
            of_text("t.findAll('a').size() > 0 || true"),
        ),
    ]
}

#[test]
fn steps_count_what_is_done() {
    // Each is much more work than its shape says.
    let ten = "[x, x, x, x, x, x, x, x, x, x]";
    let deep = again("0", ten, 4);
    for (sentence, text, least) in [
        (
            "equality of shared parts",
            format!("{deep} == {deep}"),
            10_000,
        ),
        (
            "a shared value in a list",
            format!("{deep} in [[1], {deep}]"),
            10_000,
        ),
        (
            "the index of a shared value",
            format!("[{deep}].indexOf({deep}) == 0"),
            10_000,
        ),
        (
            "a text in a list",
            format!("{}.all(t, t in [t + 'a', 'a' + t, t])", long(12)),
            12_000,
        ),
        (
            "the largest text",
            format!("{}.all(t, [t, t, t, t].max() == t)", long(12)),
            25_000,
        ),
        (
            "versions",
            format!("{}.map(t, semver('1.0.0-' + t)).all(t, t == t)", long(12)),
            12_000,
        ),
        (
            "a text as a key",
            format!("{}.all(t, {{t: 1}}[t] == 1)", long(12)),
            12_000,
        ),
        (
            "a large pattern",
            "'aab'.matches('(a{80}){80}') || true".to_owned(),
            9_000,
        ),
        (
            "a large pattern on a text",
            format!("{}.all(t, t.matches('(a{{80}}){{80}}') || true)", long(6)),
            60_000,
        ),
        (
            "JSON",
            "'[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]'.parseJSON() != []".to_owned(),
            20,
        ),
    ] {
        let expression = Expression::new(&text, ENVIRONMENT).unwrap();
        let mut budget = BUDGET;
        let said = expression.holds(&cluster(), &mut budget);
        assert_eq!(said, Ok(true), "{sentence}");
        let steps = BUDGET - budget;
        assert!(steps >= least, "{sentence}: {steps} steps");
        assert!(steps < 40 * least, "{sentence}: {steps} steps");
    }
}

#[test]
fn what_shares_its_parts_is_stopped() {
    for (sentence, text) in hostile() {
        let expression = Expression::new(&text, ENVIRONMENT);
        let expression = expression.unwrap_or_else(|error| panic!("{sentence}: {error}"));
        let mut budget = 2_000;
        // It may end before, but not by itself after an endless time.
        drop(expression.evaluate(&cluster(), &mut budget));
        let is_deep = sentence.contains("shared");
        assert!(
            !is_deep || budget == 0,
            "{sentence}: {budget} steps are left"
        );
    }
}

/// To see the figures: `cargo test --release -p berth-cel costs -- --ignored --nocapture`
#[test]
#[ignore = "a measurement: takes minutes without optimization"]
#[allow(clippy::print_stdout, reason = "the figures")]
fn a_step_of_each() {
    for (sentence, text) in hostile() {
        let expression = Expression::new(&text, ENVIRONMENT).unwrap();
        let mut budget = BUDGET;
        let begun = Instant::now();
        let said = expression.evaluate(&cluster(), &mut budget);
        let took = begun.elapsed();
        let steps = BUDGET - budget;
        println!(
            "{sentence}: {took:?}, {steps} steps, {} ns each ({:?})",
            took.as_nanos() / u128::from(steps.max(1)),
            said.err()
        );
    }
}
