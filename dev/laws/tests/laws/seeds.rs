//! Runs the laws on the seeds of the fuzzers, in `dev/fuzz/seeds` by target.
//!
//! Seeds of reviews are the recorded reviews, reduced to the fields that the rules read. After new recordings, update them with
//! `BERTH_GENERATE=1 cargo test -p berth-laws`.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use berth_laws::requests::{agent, alternative_name, subject};
use serde_json::Value;

/// Maximum number of seeds, so that a fuzzer's corpus is not committed.
const LARGEST: usize = 300 * 1024;

type Law = fn(&[u8]);

/// The targets of `dev/fuzz/`, by name.
const TARGETS: [(&str, Law); 5] = [
    ("review", berth_laws::review),
    ("mutate", berth_laws::mutate),
    ("rbac", berth_laws::rbac),
    ("selector", berth_laws::selector),
    ("csr", berth_laws::csr),
];

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn files(folder: &str) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(repository(folder))
        .unwrap_or_else(|error| panic!("{folder}: {error}"))
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                fs::read(entry.path()).unwrap(),
            )
        })
        .collect()
}

#[test]
fn the_laws_hold_for_all_seeds() {
    let mut size = 0;
    for (target, law) in TARGETS {
        let seeds = files(&format!("dev/fuzz/seeds/{target}"));
        assert!(!seeds.is_empty(), "{target} has seeds");
        for (name, seed) in seeds {
            size += seed.len();
            let held = catch_unwind(AssertUnwindSafe(|| law(&seed)));
            assert!(held.is_ok(), "dev/fuzz/seeds/{target}/{name}");
        }
    }
    assert!(size <= LARGEST, "the seeds have {size} bytes");
}

/// Building the targets needs nightly and minutes, so this test compares their text.
#[test]
fn each_law_has_a_target_that_calls_it_and_nothing_else() {
    let targets: BTreeMap<_, _> = TARGETS
        .iter()
        .map(|(name, _)| {
            let calls =
                format!("libfuzzer_sys::fuzz_target!(|bytes: &[u8]| berth_laws::{name}(bytes));");
            (
                format!("{name}.rs"),
                format!("#![no_main]\n\n{calls}\n").into_bytes(),
            )
        })
        .collect();
    assert_eq!(files("dev/fuzz/fuzz_targets"), targets);
    let manifest = fs::read_to_string(repository("dev/fuzz/Cargo.toml")).unwrap();
    for file in targets.keys() {
        assert!(
            manifest.contains(&format!("path = \"fuzz_targets/{file}\"")),
            "dev/fuzz/Cargo.toml names {file}"
        );
    }
}

/// Returns a review with only the fields that rules read, so that a fuzzer's changes matter.
fn essential(mut review: Value) -> Value {
    let request = review["request"].as_object_mut().unwrap();
    for field in ["kind", "requestKind", "requestResource", "options"] {
        request.remove(field);
    }
    request["userInfo"].as_object_mut().unwrap().remove("extra");
    for object in ["object", "oldObject"] {
        let Some(Value::Object(metadata)) = review["request"][object].get_mut("metadata") else {
            continue;
        };
        for field in [
            "managedFields",
            "annotations",
            "creationTimestamp",
            "uid",
            "generation",
            "resourceVersion",
        ] {
            metadata.remove(field);
        }
    }
    review
}

#[test]
fn seeds_of_reviews_are_what_was_recorded() {
    let recorded: BTreeMap<_, _> = files("tests/data/reviews")
        .into_iter()
        .filter(|(name, _)| name.ends_with(".json") && !name.ends_with(".ocm.json"))
        .map(|(name, review)| {
            let review = serde_json::from_slice(&review).unwrap();
            (name, essential(review).to_string().into_bytes())
        })
        .collect();
    if std::env::var_os("BERTH_GENERATE").is_some_and(|value| value == "1") {
        let folder = repository("dev/fuzz/seeds/review");
        fs::create_dir_all(&folder).unwrap();
        for (name, review) in &recorded {
            fs::write(folder.join(name), review).unwrap();
        }
    }
    let mut seeds = files("dev/fuzz/seeds/review");
    for (name, review) in recorded {
        let again = "write it anew: BERTH_GENERATE=1 cargo test -p berth-laws";
        assert!(
            seeds.remove(&name) == Some(review),
            "dev/fuzz/seeds/review/{name}: {again}"
        );
    }
    // Inputs that a fuzzer found have other names.
    assert!(
        seeds.keys().all(|name| name.starts_with("found-")),
        "{:?}",
        seeds.keys()
    );
}

/// Subjects and attributes, byte by byte. OpenSSL created the CSRs in PEM; their keys were deleted.
#[test]
fn seeds_of_requests_that_are_signed_here_are_what_is_made_up() {
    let requests = [
        ("agent", agent()),
        (
            "agent-with-alternative-name",
            [agent(), alternative_name("a.example")].concat(),
        ),
        ("admin", subject(&["system:masters"], "admin")),
    ];
    for (name, request) in requests {
        let file = repository(&format!("dev/fuzz/seeds/csr/{name}"));
        if std::env::var_os("BERTH_GENERATE").is_some_and(|value| value == "1") {
            fs::write(&file, &request).unwrap();
        }
        assert!(
            fs::read(&file).unwrap() == request,
            "{name}: write it anew: BERTH_GENERATE=1 cargo test -p berth-laws"
        );
    }
}
