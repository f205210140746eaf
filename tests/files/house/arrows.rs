//! Which crates a crate may use: arrows run down, never back up, and from no controller to another one.

use super::{Arrows, in_manifests};

/// The crates that each crate may use besides `api`. `kit/*` are all in that folder, `*/core` all cores.
const MAY_USE: [(&str, &[&str]); 27] = [
    // Pure.
    ("api", &[]),
    ("rbac", &[]),
    ("cel", &[]),
    ("rollout", &[]),
    ("work/agent/core", &["work/core"]),
    // What it installs are the manifests.
    ("operator/core", &["manifests"]),
    ("*/core", &["cel", "rollout", "certs"]),
    ("work/replicas", &["rollout"]),
    ("rules", &["placement/core", "addons/core", "rollout"]),
    ("policies", &["rules"]),
    // What the others stand on.
    ("certs", &[]),
    ("manifests", &[]),
    ("kit/hub", &[]),
    ("kit/lease", &["kit/hub"]),
    ("kit/reconcile", &["kit/hub", "kit/lease"]),
    ("kit/serve", &["certs"]),
    // The gate. It writes nothing, so it has no kit for writers.
    ("webhooks/review", &["rules", "rbac", "kit/hub"]),
    (
        "webhooks",
        &[
            "rules",
            "certs",
            "manifests",
            "kit/serve",
            "webhooks/review",
            "addons/core",
        ],
    ),
    // Controllers.
    ("webhooks/keeper", &["certs", "manifests", "kit/*"]),
    ("policies/follower", &["policies", "kit/*"]),
    (
        "lifecycle",
        &["lifecycle/core", "certs", "manifests", "kit/*"],
    ),
    ("agent", &["agent/core", "certs", "manifests", "kit/*"]),
    (
        "placement",
        &["placement/core", "certs", "manifests", "kit/*"],
    ),
    (
        "work/agent",
        &["work/agent/core", "work/core", "certs", "kit/*"],
    ),
    ("work/hub", &["work/replicas", "rollout", "kit/*"]),
    ("addons", &["addons/core", "rollout", "kit/*"]),
    (
        "operator",
        &["operator/core", "manifests", "certs", "kit/*"],
    ),
];

/// What people type. The binary, `src`, may use all that ships.
const COMMANDS: [&str; 9] = [
    "rbac",
    "rules",
    "policies",
    "certs",
    "manifests",
    "kit/*",
    "*/core",
    "work/replicas",
    "webhooks/review",
];

/// The page of the commands: their answers as data, never their printing.
const CONSOLE: [&str; 9] = [
    "admin",
    "rollout",
    "work/replicas",
    "rules",
    "policies",
    "certs",
    "kit/*",
    "*/core",
    "webhooks/review",
];

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => name.starts_with(start) && name.ends_with(end),
        None => pattern == name,
    }
}

/// What a crate may use; `None` for one without a row.
fn may_use(of: &str) -> Option<&'static [&'static str]> {
    match of {
        "admin" => Some(&COMMANDS),
        "console" => Some(&CONSOLE),
        "src" => Some(&["*"]),
        of => MAY_USE
            .iter()
            .find(|(it, _)| matches(it, of))
            .map(|(_, uses)| *uses),
    }
}

/// The arrows that the rules forbid, and crates without a row.
fn forbidden(arrows: &Arrows) -> Vec<String> {
    let mut forbidden = Vec::new();
    for (of, uses) in arrows.iter().filter(|(of, _)| !of.starts_with("dev/")) {
        let Some(may) = may_use(of) else {
            forbidden.push(format!("{of} has no row: say what it may use"));
            continue;
        };
        for used in uses {
            let is_allowed = used == "api" || may.iter().any(|it| matches(it, used));
            if !is_allowed {
                forbidden.push(format!("{of} -> {used}"));
            }
        }
    }
    forbidden
}

#[test]
fn arrows_between_crates_run_down() {
    let forbidden = forbidden(&in_manifests());
    assert!(forbidden.is_empty(), "{forbidden:#?}");
}

#[test]
fn arrows_that_run_up_or_across_are_found() {
    for (of, used, is_allowed) in [
        ("lifecycle", "api", true),
        ("lifecycle", "lifecycle/core", true),
        ("lifecycle", "placement", false),
        ("lifecycle", "placement/core", false),
        ("lifecycle/core", "kit/hub", false),
        ("placement/core", "rules", false),
        ("work/core", "placement/core", false),
        ("certs", "kit/serve", false),
        ("kit/hub", "lifecycle", false),
        ("kit/hub", "admin", false),
        ("webhooks", "kit/reconcile", false),
        ("src", "work/agent", true),
        ("console", "admin", true),
        ("console", "lifecycle", false),
        ("admin", "console", false),
        ("work/hub", "work/agent", false),
        ("addons", "addons/core", true),
        ("addons", "work/hub", false),
        ("elsewhere", "api", false),
    ] {
        let arrows: Arrows = [(of.to_owned(), [used.to_owned()].into())].into();
        let found = forbidden(&arrows);
        assert_eq!(found.is_empty(), is_allowed, "{of} -> {used}: {found:?}");
    }
}
