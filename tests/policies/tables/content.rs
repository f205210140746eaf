//! Content of ManagedClusters, as far as a change introduces it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Row, called, cluster, deleting, in_set};

const USER: &[&str] = &["join:a"];

/// URLs, and whether Go's `net/url` finds `https` and a host in them.
pub const URLS: [(bool, &str); 58] = [
    (true, "https://127.0.0.1:8001"),
    (true, "HTTPS://api.example.com"),
    (true, "https://api.example.com:6443/path?q=1#f"),
    (true, "https://user:pw@api.example.com"),
    (true, "https://[::1]:6443"),
    (true, "https://[fe80::1%25eth0]:6443"),
    (true, "https://api.example.com:"),
    (true, "https://b%C3%BCcher.example"),
    (true, "https://bücher.example"),
    (true, "https://h?a%zz"),
    (true, "https://h%25"),
    (true, "https://h%25:443/"),
    (true, "https://a,b,c/bar"),
    (true, "https://!$&'()*+,;=hello!:1/path"),
    (true, "https://authority<\"hi\">/foo"),
    (true, "https://h]"),
    (true, "https://john%20doe@www.google.com/"),
    (true, "https://j@ne:password@google.com/p@th?q=@go"),
    (true, "https://www.google.com/#file%20one%26two"),
    (true, "https://h#a#b"),
    (false, ""),
    (false, "127.0.0.1:8001"),
    (false, "http://127.0.0.1:8001"),
    (false, "https:x"),
    (false, "https:/x"),
    (false, "https://"),
    (false, "https:///x"),
    (false, "https://:6443"),
    (false, "https://user@"),
    (false, "https://h:80a"),
    (false, "https://h:80:81"),
    (false, "https://::1:6443"),
    (false, "https://[::1"),
    (false, "https://[h]"),
    (false, "https://[::1]x"),
    (false, "https://a b"),
    (false, "https://a%20b"),
    (false, "https://h/%zz"),
    (false, "https://h#%"),
    (false, "https://us er@h"),
    (false, " https://h"),
    (false, "://h"),
    (false, "ht+tps://h"),
    (false, "https:www.google.com/?q=go+language"),
    (false, "https:%2f%2fwww.google.com/"),
    (false, "//user@foo/path?a=b"),
    (false, "*"),
    (false, "https://192.168.0.%31/"),
    (false, "https://[fe80::%31]/"),
    (false, "https://[fe80::1%en0]/"),
    (false, "https://[fe80::1%25]/"),
    (false, "https://h["),
    (false, "https://h[::1]"),
    (false, "https://[192.0.2.1]"),
    (false, "https://foo\\bar"),
    (false, "https://a`b"),
    (false, "https://a{b}"),
    (false, "// &"),
];

/// A cluster in set `a` that is reached by these URLs.
pub fn reached_by(urls: &[&str]) -> Value {
    let configs: Vec<_> = urls.iter().map(|url| json!({ "url": url })).collect();
    member(json!({ "managedClusterClientConfigs": configs }))
}

fn member(spec: Value) -> Value {
    cluster(in_set("a"), spec)
}

fn leased(seconds: Option<i64>) -> Value {
    member(json!({ "leaseDurationSeconds": seconds }))
}

/// CA bundles: one that parses, one of another PEM block, one whose certificate does not parse, and none.
pub fn bundles() -> [String; 4] {
    let wrapped = |label: &str, der: &[u8]| {
        let body = STANDARD.encode(der);
        STANDARD.encode(format!(
            "-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"
        ))
    };
    let authority = berth_certs::issue::Authority::new(
        "proof",
        std::time::Duration::from_secs(3600),
        jiff::Timestamp::now(),
    );
    let good = STANDARD.encode(authority.unwrap().certificate_pem());
    [
        good,
        wrapped("PRIVATE KEY", b"key"),
        wrapped("CERTIFICATE", b"rubbish"),
        STANDARD.encode("hello"),
    ]
}

fn ca(bundle: &str) -> Value {
    let config = json!({ "url": "https://h", "caBundle": bundle });
    member(json!({ "managedClusterClientConfigs": [config] }))
}

pub fn rows() -> Vec<Row> {
    let [good, key, rubbish, hello] = bundles();
    let mut rows: Vec<Row> = URLS
        .iter()
        .flat_map(|(is_good, url)| {
            let expected = if *is_good { "allow" } else { "400" };
            super::rows("URL", [("", USER, None, reached_by(&[url]), expected)])
        })
        .collect();
    for (row, (_, url)) in rows.iter_mut().zip(&URLS) {
        row.sentence.push_str(url);
    }
    for (moved, sentence) in [(1, "one byte on"), (2, "two bytes on")] {
        let pem = STANDARD.decode(&good).unwrap();
        let moved = STANDARD.encode([&b"##"[..moved], b"\n", &pem[..]].concat());
        let mut row = super::rows("CA bundle", [("", USER, None, ca(&moved), "allow")]);
        row[0].sentence.push_str(sentence);
        rows.append(&mut row);
    }
    rows.extend(super::rows(
        "content",
        [
            (
                "two bad URLs",
                USER,
                None,
                reached_by(&["http://a", "http://b"]),
                "400",
            ),
            (
                "the same one twice",
                USER,
                None,
                reached_by(&["http://a", "http://a"]),
                "400",
            ),
            (
                "a stored bad URL stays",
                USER,
                Some(reached_by(&["http://a"])),
                reached_by(&["http://a", "https://b"]),
                "allow",
            ),
            (
                "another comes",
                USER,
                Some(reached_by(&["http://a"])),
                reached_by(&["http://a", "http://b"]),
                "400",
            ),
            (
                "while it is deleted",
                USER,
                Some(deleting(member(json!({})))),
                reached_by(&["http://a"]),
                "allow",
            ),
            (
                "a forged deletion",
                USER,
                None,
                deleting(reached_by(&["http://a"])),
                "400",
            ),
            ("a CA bundle", USER, None, ca(&good), "allow"),
            (
                "an empty CA bundle",
                USER,
                None,
                ca(""),
                "422 by the API server",
            ),
            ("a CA bundle that is no PEM", USER, None, ca(&hello), "400"),
            ("a CA bundle with a key", USER, None, ca(&key), "400"),
            ("a CA bundle with rubbish", USER, None, ca(&rubbish), "400"),
            (
                "a CA bundle with rubbish, and a bad lease",
                USER,
                None,
                with(ca(&rubbish), "leaseDurationSeconds", json!(-1)),
                "400",
            ),
            (
                "a stored bad CA bundle stays",
                USER,
                Some(ca(&hello)),
                with(ca(&hello), "leaseDurationSeconds", json!(30)),
                "allow",
            ),
            (
                "at another URL",
                USER,
                Some(ca(&hello)),
                reached_by_with("https://other", &hello),
                "allow",
            ),
            ("a minute of lease", USER, None, leased(Some(60)), "allow"),
            ("no time", USER, None, leased(Some(0)), "allow"),
            ("a day", USER, None, leased(Some(86_400)), "allow"),
            ("more than a day", USER, None, leased(Some(86_401)), "400"),
            ("less than nothing", USER, None, leased(Some(-1)), "400"),
            (
                "a stored bad lease stays",
                USER,
                Some(leased(Some(-1))),
                with(leased(Some(-1)), "hubAcceptsClient", json!(false)),
                "allow",
            ),
            (
                "a stored bad lease is mended",
                USER,
                Some(leased(Some(-1))),
                leased(Some(60)),
                "allow",
            ),
            (
                "a stored bad lease becomes another",
                USER,
                Some(leased(Some(-1))),
                leased(Some(-2)),
                "400",
            ),
            (
                "content and permissions",
                &[],
                None,
                cluster(
                    in_set("b"),
                    json!({ "hubAcceptsClient": true, "leaseDurationSeconds": -1 }),
                ),
                "400",
            ),
            (
                "content, and a retired label",
                USER,
                None,
                retired(leased(Some(-1))),
                "400",
            ),
            (
                "several faults",
                USER,
                None,
                with(reached_by(&["http://a"]), "leaseDurationSeconds", json!(-1)),
                "400",
            ),
            (
                "another type",
                USER,
                None,
                member(json!({ "hubAcceptsClient": "yes" })),
                "400",
            ),
            (
                "a name with a dot",
                USER,
                None,
                called(member(json!({})), "a.b"),
                "400",
            ),
            (
                "a long name",
                USER,
                None,
                called(member(json!({})), &"x".repeat(64)),
                "400",
            ),
            (
                "the longest name",
                USER,
                None,
                called(member(json!({})), &"x".repeat(63)),
                "allow",
            ),
            (
                "a long name with a dot",
                USER,
                None,
                called(member(json!({})), &format!("{}.x", "x".repeat(64))),
                "400",
            ),
            (
                "a stored name with a dot",
                USER,
                Some(called(member(json!({})), "c.d")),
                called(leased(Some(30)), "c.d"),
                "allow",
            ),
            (
                "a generated name that the API server cuts",
                USER,
                None,
                generated(&"x".repeat(60)),
                "allow",
            ),
        ],
    ));
    rows
}

fn with(mut object: Value, field: &str, value: Value) -> Value {
    object["spec"][field] = value;
    object
}

fn reached_by_with(url: &str, bundle: &str) -> Value {
    let config = json!({ "url": url, "caBundle": bundle });
    member(json!({ "managedClusterClientConfigs": [config] }))
}

fn retired(mut object: Value) -> Value {
    object["metadata"]["labels"][berth_api::labels::RETIRED_CLUSTER_SET] = "x".into();
    object
}

fn generated(prefix: &str) -> Value {
    let mut object = member(json!({}));
    object["metadata"]["generateName"] = prefix.into();
    object
}
