//! The requests that a rule allows; each row of a table is a sentence.

use crate::support::{ask, rules_of_u};

#[test]
fn a_rule_matches_by_verb_group_resource_and_name() {
    let pods = "{verbs: [get], apiGroups: [''], resources: [pods]}";
    let all = "{verbs: ['*'], apiGroups: ['*'], resources: ['*']}";
    let logs = "{verbs: [get], apiGroups: [''], resources: ['*/log']}";
    let below_pods = "{verbs: ['*'], apiGroups: [''], resources: ['pods/*']}";
    let named = "{verbs: ['*'], apiGroups: [''], resources: [pods], resourceNames: [web, db]}";
    let nameless = "{verbs: ['*'], apiGroups: [''], resources: [pods], resourceNames: []}";
    let two = "{verbs: [get], apiGroups: [''], resources: [pods]}, {verbs: [list], apiGroups: [apps], resources: [deployments]}";
    let rows = [
        (
            "the verb, group and resource named are allowed",
            pods,
            "get core pods web -n app",
            true,
        ),
        (
            "without a namespace as well, and without a name",
            pods,
            "get core pods",
            true,
        ),
        ("another verb is not", pods, "list core pods", false),
        ("another resource is not", pods, "get core secrets", false),
        ("another group is not", pods, "get apps pods", false),
        ("case matters", pods, "GET core pods", false),
        (
            "a resource does not include its subresources",
            pods,
            "get core pods/log web",
            false,
        ),
        (
            "asking for all verbs is no request for one",
            pods,
            "* core pods",
            false,
        ),
        (
            "asking for all resources needs all resources",
            pods,
            "get core *",
            false,
        ),
        (
            "* covers every verb, group and resource",
            all,
            "frobnicate x.io things",
            true,
        ),
        (
            "* covers subresources",
            all,
            "update x.io things/status a",
            true,
        ),
        ("* covers asking for everything", all, "* * *", true),
        ("* of resources covers no paths", all, "get /healthz", false),
        (
            "*/log covers the log of every resource",
            logs,
            "get core pods/log web",
            true,
        ),
        (
            "*/log does not cover the resource",
            logs,
            "get core pods web",
            false,
        ),
        (
            "*/log does not cover other subresources",
            logs,
            "get core pods/exec web",
            false,
        ),
        (
            "*/log does not cover what merely ends in log",
            logs,
            "get core pods/xlog web",
            false,
        ),
        (
            "pods/* is no wildcard for the subresources of pods",
            below_pods,
            "get core pods/log web",
            false,
        ),
        (
            "pods/* does not cover pods",
            below_pods,
            "get core pods",
            false,
        ),
        (
            "pods/* is just a name",
            below_pods,
            "get core pods/* web",
            true,
        ),
        ("a listed name is allowed", named, "get core pods db", true),
        (
            "a name not listed is not",
            named,
            "get core pods mail",
            false,
        ),
        (
            "a list has no name, so names never match it",
            named,
            "list core pods",
            false,
        ),
        (
            "nor does a create without a name",
            named,
            "create core pods",
            false,
        ),
        (
            "* is no wildcard for names",
            named,
            "get core pods *",
            false,
        ),
        (
            "an empty list of names means all",
            nameless,
            "get core pods mail",
            true,
        ),
        ("and no name", nameless, "list core pods", true),
        (
            "lists of two rules do not mix",
            two,
            "list core pods",
            false,
        ),
        (
            "nor the other way round",
            two,
            "get apps deployments",
            false,
        ),
        (
            "each rule counts by itself",
            two,
            "list apps deployments",
            true,
        ),
    ];
    for (sentence, rules, line, allowed) in rows {
        assert_eq!(
            ask(&rules_of_u(rules), "u", &[], line).is_allowed(),
            allowed,
            "{sentence}: {line}"
        );
    }
}

#[test]
fn paths_match_exactly_or_by_a_star_at_the_end() {
    let exact = "{verbs: [get], nonResourceURLs: [/healthz]}";
    let below = "{verbs: [get], nonResourceURLs: [/healthz/*]}";
    let stars = "{verbs: [get], nonResourceURLs: ['/logs/**']}";
    let middle = "{verbs: [get], nonResourceURLs: ['/a/*/b']}";
    let all = "{verbs: ['*'], nonResourceURLs: ['*']}";
    let rows = [
        ("the path itself", exact, "get /healthz", true),
        ("not what is below", exact, "get /healthz/etcd", false),
        ("not with another verb", exact, "post /healthz", false),
        ("what is below the star", below, "get /healthz/etcd", true),
        ("nothing may follow the slash", below, "get /healthz/", true),
        ("but the slash must be there", below, "get /healthz", false),
        ("many stars are one", stars, "get /logs/x", true),
        (
            "a star in the middle is just a character",
            middle,
            "get /a/x/b",
            false,
        ),
        ("which matches itself", middle, "get /a/*/b", true),
        ("* is every path", all, "delete /anything", true),
        ("but no resource", all, "get core pods", false),
    ];
    for (sentence, rules, line, allowed) in rows {
        assert_eq!(
            ask(&rules_of_u(rules), "u", &[], line).is_allowed(),
            allowed,
            "{sentence}: {line}"
        );
    }
}
