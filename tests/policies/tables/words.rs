//! Texts of requesters in messages.

use serde_json::json;

use super::{Row, called, cluster, in_set};
use crate::users::User;
use crate::write::Verb;

pub fn rows() -> Vec<Row> {
    let accepted = || cluster(in_set("b"), json!({ "hubAcceptsClient": true }));
    let names = [
        ("a quote and a backslash", "de\"v\\x"),
        ("a single quote", "d'ev"),
        ("a dollar and a backquote", "$(x)`y`"),
        ("letters beyond ASCII", "dévé世"),
        ("a mark that reorders text", "dev\u{202e}x"),
        ("a space without width", "dev\u{200b}x"),
        ("a mark that combines", "e\u{301}"),
        ("a symbol", "🙂"),
        ("spaces", "dev a  b"),
    ];
    let long = "x".repeat(300);
    let long_beyond_ascii = "é".repeat(200);
    let names = names
        .iter()
        .map(|(sentence, name)| (*sentence, *name))
        .chain([
            ("long", &*long),
            ("long, beyond ASCII", &*long_beyond_ascii),
        ]);
    let mut rows = Vec::new();
    for (sentence, name) in names {
        for (what, object) in [
            ("", accepted()),
            (" and the default set", cluster(json!({}), json!({}))),
        ] {
            rows.push(Row {
                sentence: format!("a user's name: {sentence}{what}"),
                user: User::new(&[]).called(name),
                verb: Verb::Create,
                old: None,
                new: object,
                expected: if what.is_empty() { "403" } else { "allow ~1" },
            });
        }
    }
    let url = |url: &str| super::content::reached_by(&[url]);
    rows.extend(super::rows(
        "words",
        [
            (
                "a URL with a quote",
                &["join:a"],
                None,
                url("http://a\"b\\c'd"),
                "400",
            ),
            (
                "a URL with a line break",
                &["join:a"],
                None,
                url("http://a\nb"),
                "400",
            ),
            (
                "a URL with a tab",
                &["join:a"],
                None,
                url("http://a\tb"),
                "400",
            ),
            (
                "a long URL",
                &["join:a"],
                None,
                url(&format!("http://{}", "x".repeat(400))),
                "400",
            ),
            (
                "a long URL beyond ASCII",
                &["join:a"],
                None,
                url(&format!("http://{}", "é".repeat(200))),
                "400",
            ),
            (
                "a long name that is reserved",
                &["join:default"],
                None,
                called(
                    cluster(json!({}), json!({})),
                    &format!("kube-{}", "x".repeat(58)),
                ),
                "403",
            ),
        ],
    ));
    rows
}
