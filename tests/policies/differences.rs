//! The documented differences between the gate and the policies, each recognised as narrowly as possible.
//!
//! They are the rows of `NOT_IN_CEL` and `DIFFERENCES` of `berth-policies`. Each must have a case, so that none is stale. One row
//! cannot have one here: a question that the authorizer cannot answer.

use serde_json::{Value, json};

use crate::compare::{Author, WriteOutcome};
use crate::tables::PREFIXED_WITH_NAMESPACE;
use crate::tables::lists::SHRINKS;
use crate::write::Write;

/// A documented difference.
pub struct Difference {
    pub name: &'static str,
    /// Removes the difference from the outcomes of the gate and of the policies, and returns true if it was there.
    pub remove: fn(&Write, &mut WriteOutcome, &mut WriteOutcome) -> bool,
}

/// All of them, in the order in which they are removed.
pub const ALL: &[Difference] = &[
    Difference {
        name: "the API server's own words",
        remove: own_words,
    },
    Difference {
        name: "warnings beside a refusal of content or name",
        remove: warnings_beside_a_refusal,
    },
    Difference {
        name: "acceptance while the namespace is terminating",
        remove: namespace_terminating,
    },
    Difference {
        name: "acceptance while the namespace holds bindings",
        remove: bindings_held,
    },
    Difference {
        name: "a namespace of a cluster that the hub has just accepted",
        remove: just_accepted,
    },
    Difference {
        name: "a reserved prefix of a cluster that has its namespace",
        remove: prefix_with_namespace,
    },
    Difference {
        name: "CA bundles that do not parse",
        remove: ca_bundles,
    },
    Difference {
        name: "the warning that a set does not exist",
        remove: missing_set,
    },
    Difference {
        name: "400 and 422",
        remove: codes,
    },
    Difference {
        name: "messages of several lines",
        remove: lines,
    },
    Difference {
        name: "managedFields with a time that was made up",
        remove: forged_clock,
    },
    Difference {
        name: "new taints without managedFields",
        remove: no_clock,
    },
    Difference {
        name: "selectors of more than 400 requirements and values",
        remove: large_selectors,
    },
    Difference {
        name: "a stored list that shrinks and is still too long",
        remove: still_too_long,
    },
    Difference {
        name: "faults beside a list that is too long",
        remove: faults_beside_a_long_list,
    },
    Difference {
        name: "warnings about generated names",
        remove: generated_names,
    },
    Difference {
        name: "values behind too many requirements",
        remove: values_behind_requirements,
    },
    Difference {
        name: "more than 20 faults",
        remove: many_faults,
    },
    Difference {
        name: "text that cannot be printed",
        remove: unprintable,
    },
    Difference {
        name: "long text",
        remove: long_text,
    },
];

/// What the API server refuses with the policies, another webhook than the validating one may have refused before.
fn own_words(_: &Write, gate: &mut WriteOutcome, policies: &mut WriteOutcome) -> bool {
    let is_found = policies.author == Author::ApiServer && policies.code == 422 && gate.code == 400;
    if is_found {
        *gate = policies.clone();
    }
    is_found
}

/// Each policy is evaluated, also after another has refused. The gate warns only beside a denial.
fn warnings_beside_a_refusal(
    _: &Write,
    gate: &mut WriteOutcome,
    policies: &mut WriteOutcome,
) -> bool {
    let is_refusal = gate.code == 400 || gate.message.contains(" is forbidden: the name ");
    let is_part = gate.warnings.len() < policies.warnings.len()
        && gate
            .warnings
            .iter()
            .all(|warning| policies.warnings.contains(warning));
    let is_found = is_refusal && gate.code >= 400 && policies.code >= 400 && is_part;
    if is_found {
        policies.warnings = gate.warnings.clone();
    }
    is_found
}

fn namespace_terminating(_: &Write, gate: &mut WriteOutcome, policies: &mut WriteOutcome) -> bool {
    without_line(gate, policies, |line| {
        line.contains(" is terminating: wait until it is gone, then accept again")
    })
}

fn bindings_held(_: &Write, gate: &mut WriteOutcome, policies: &mut WriteOutcome) -> bool {
    without_line(gate, policies, |line| {
        line.contains(" holds ManagedClusterSetBindings, and would become")
    })
}

/// Only where the hub has no RoleBinding of the cluster yet.
fn just_accepted(write: &Write, gate: &mut WriteOutcome, policies: &mut WriteOutcome) -> bool {
    write.object["metadata"]["namespace"] == crate::tables::JUST_ACCEPTED
        && without_line(gate, policies, |line| {
            line.contains(" belongs to the accepted ManagedCluster ")
        })
}

/// The policies refuse it, the gate does not.
fn prefix_with_namespace(
    write: &Write,
    gate: &mut WriteOutcome,
    policies: &mut WriteOutcome,
) -> bool {
    write.object["metadata"]["name"] == PREFIXED_WITH_NAMESPACE
        && without_line(policies, gate, |line| line.contains(" is reserved: "))
}

/// The policies admit rubbish in a PEM block, and describe what is no PEM block in other words.
fn ca_bundles(_: &Write, gate: &mut WriteOutcome, policies: &mut WriteOutcome) -> bool {
    const WORDS: &str = "holds no PEM block";
    let lines: Vec<_> = gate.message.split('\n').map(str::to_owned).collect();
    let mut kept = Vec::new();
    let mut is_found = false;
    for line in &lines {
        let other = ["is not base64", "holds no certificate that parses"]
            .iter()
            .find(|words| line.starts_with("caBundle of url ") && line.ends_with(**words));
        let Some(words) = other else {
            kept.push(line.clone());
            continue;
        };
        is_found = true;
        let said = line.replace(words, WORDS);
        if policies.message.contains(&said) {
            kept.push(said);
        }
    }
    if is_found {
        keep(gate, policies, &kept);
    }
    is_found
}

fn missing_set(_: &Write, gate: &mut WriteOutcome, _: &mut WriteOutcome) -> bool {
    let before = gate.warnings.len();
    let is_missing = |warning: &String| {
        warning.starts_with("ManagedClusterSet ")
            && warning.contains(" does not exist; until it does, ManagedCluster ")
    };
    gate.warnings.retain(|warning| !is_missing(warning));
    gate.warnings.len() < before
}

fn codes(_: &Write, gate: &mut WriteOutcome, policies: &mut WriteOutcome) -> bool {
    let are_ours = gate.author == Author::Engine && policies.author == Author::Engine;
    let is_found = are_ours && gate.code == 400 && policies.code == 422;
    if is_found {
        gate.code = 422;
    }
    is_found
}

fn lines(_: &Write, gate: &mut WriteOutcome, _: &mut WriteOutcome) -> bool {
    let is_found = gate.message.contains('\n');
    gate.message = gate.message.replace('\n', "; ");
    is_found
}

/// The policies take the time from managedFields, so they refuse taints beside entries of more than one time.
fn forged_clock(write: &Write, gate: &mut WriteOutcome, policies: &mut WriteOutcome) -> bool {
    let has_entries = !write.object["metadata"]["managedFields"].is_null();
    let is_found = has_entries
        && gate.code < 300
        && policies.code == 422
        && policies
            .message
            .starts_with("metadata.managedFields: Invalid value: entries of more than one time");
    if is_found {
        *policies = gate.clone();
    }
    is_found
}

/// Without managedFields, the policies have no clock.
fn no_clock(write: &Write, gate: &mut WriteOutcome, policies: &mut WriteOutcome) -> bool {
    if write.object["metadata"]["managedFields"] != json!([{}]) {
        return false;
    }
    let mut is_found = false;
    let ours = gate.object["spec"]["taints"].as_array_mut();
    let theirs = policies.object["spec"]["taints"].as_array();
    for (ours, theirs) in ours.into_iter().flatten().zip(theirs.into_iter().flatten()) {
        if ours["timeAdded"] == "now" && theirs["timeAdded"].is_null() {
            ours["timeAdded"] = theirs["timeAdded"].clone();
            is_found = true;
        }
    }
    is_found
}

/// The policies do not compare them: each change counts as wider.
fn large_selectors(write: &Write, gate: &mut WriteOutcome, policies: &mut WriteOutcome) -> bool {
    let expressions = &write.object["spec"]["clusterSelector"]["labelSelector"]["matchExpressions"];
    let number = |expression: &Value| expression["values"].as_array().map_or(0, Vec::len);
    let values: usize = expressions
        .as_array()
        .into_iter()
        .flatten()
        .map(number)
        .sum();
    let is_found = values > 300
        && gate.code < 300
        && policies.code == 403
        && policies
            .message
            .contains(" cannot widen the selector of ManagedClusterSet ");
    if is_found {
        *policies = gate.clone();
    }
    is_found
}

/// The policies do not look if a part of the stored list is left.
fn still_too_long(write: &Write, gate: &mut WriteOutcome, policies: &mut WriteOutcome) -> bool {
    let is_found = write.object["metadata"]["annotations"] == json!({ SHRINKS: "yes" })
        && gate.code < 300
        && policies.code == 422
        && policies.message.starts_with("spec.")
        && policies.message.ends_with(" must have at most 1000 items");
    if is_found {
        *policies = gate.clone();
    }
    is_found
}

/// The policies refuse a list that is too long before they look at other content. The gate does only if its mutating webhook is called.
fn faults_beside_a_long_list(
    _: &Write,
    gate: &mut WriteOutcome,
    policies: &mut WriteOutcome,
) -> bool {
    let is_long = |fault: &str| {
        fault.starts_with("spec.") && fault.ends_with(" must have at most 1000 items")
    };
    let long: Vec<_> = gate
        .message
        .split("; ")
        .filter(|fault| is_long(fault))
        .collect();
    let is_found =
        gate.message != policies.message && !long.is_empty() && policies.message == long.join("; ");
    if is_found {
        policies.message = gate.message.clone();
    }
    is_found
}

/// The mutating webhook does not know the name that the API server will generate.
fn generated_names(write: &Write, gate: &mut WriteOutcome, policies: &mut WriteOutcome) -> bool {
    const NONE: &str = "ManagedCluster \"\" was not put into ";
    let Some(prefix) = write.object["metadata"]["generateName"].as_str() else {
        return false;
    };
    let known = format!("ManagedCluster \"{prefix}*****\" was not put into ");
    let mut is_found = false;
    for (ours, theirs) in gate.warnings.iter_mut().zip(&policies.warnings) {
        if ours.starts_with(NONE) && theirs.starts_with(&known) {
            *ours = ours.replacen(NONE, &known, 1);
            is_found = true;
        }
    }
    is_found
}

/// The gate does not read the values of requirements that are too many. The policies count them.
fn values_behind_requirements(
    _: &Write,
    gate: &mut WriteOutcome,
    policies: &mut WriteOutcome,
) -> bool {
    const REQUIREMENTS: &str = "spec.clusterSelector.labelSelector: Too many requirements: ";
    const VALUES: &str = "; spec.clusterSelector.labelSelector: Too many values: ";
    let first = |message: &str| {
        message
            .split_once(VALUES)
            .map_or(message, |(it, _)| it)
            .to_owned()
    };
    let is_found = gate.message != policies.message
        && gate.message.starts_with(REQUIREMENTS)
        && policies.message.contains(VALUES)
        && first(&gate.message) == first(&policies.message);
    if is_found {
        policies.message = gate.message.clone();
    }
    is_found
}

/// The gate counts the faults after the first 20 different ones, the policies those after the first 20.
fn many_faults(_: &Write, gate: &mut WriteOutcome, policies: &mut WriteOutcome) -> bool {
    let faults = |message: &str| {
        let (listed, more) = message.rsplit_once("; ... and ")?;
        more.ends_with(" more")
            .then(|| listed.split("; ").map(str::to_owned).collect::<Vec<_>>())
    };
    let (Some(listed), Some(by_policies)) = (faults(&gate.message), faults(&policies.message))
    else {
        return false;
    };
    let is_found = gate.message != policies.message
        && listed.len() == 20
        && by_policies.len() < 20
        && by_policies.iter().all(|fault| listed.contains(fault));
    if is_found {
        policies.message = gate.message.clone();
    }
    is_found
}

/// Text with characters that CEL cannot escape.
fn unprintable(_: &Write, gate: &mut WriteOutcome, policies: &mut WriteOutcome) -> bool {
    replaced(gate, policies, |shown, by_policies| {
        by_policies.starts_with('(')
            && by_policies.ends_with(" bytes, not printable)")
            && shown.starts_with('"')
            && shown.contains('\\')
    })
}

/// Text that is cut: after 253 bytes as shown, or after 253 characters.
fn long_text(_: &Write, gate: &mut WriteOutcome, policies: &mut WriteOutcome) -> bool {
    replaced(gate, policies, |shown, by_policies| {
        let stem = |text: &str| {
            text.split("\"... (")
                .next()
                .unwrap()
                .trim_end_matches('"')
                .to_owned()
        };
        let (shown_stem, by_policies_stem) = (stem(shown), stem(by_policies));
        (shown.ends_with(" bytes)") || by_policies.ends_with(" bytes)"))
            && (by_policies_stem.starts_with(&shown_stem)
                || shown_stem.starts_with(&by_policies_stem))
    })
}

/// Takes over the words of the gate where both messages, or both warnings, differ in quoted text only, and the quoted texts are as wanted.
fn replaced(
    gate: &WriteOutcome,
    policies: &mut WriteOutcome,
    is_wanted: impl Fn(&str, &str) -> bool + Copy,
) -> bool {
    let mut is_found = false;
    if gate.warnings.len() == policies.warnings.len() {
        for (ours, theirs) in gate.warnings.iter().zip(&mut policies.warnings) {
            is_found |= replaced_in(ours, theirs, is_wanted);
        }
    }
    is_found | replaced_in(&gate.message, &mut policies.message, is_wanted)
}

fn replaced_in(ours: &str, theirs: &mut String, is_wanted: impl Fn(&str, &str) -> bool) -> bool {
    let (a, b) = (quotations(ours), quotations(theirs));
    let plain = |parts: &[(bool, String)]| -> Vec<_> {
        let plain = parts.iter().filter(|(is_quoted, _)| !is_quoted);
        plain.map(|(_, text)| text.clone()).collect()
    };
    let is_found = ours != *theirs
        && a.len() == b.len()
        && plain(&a) == plain(&b)
        && a.iter()
            .zip(&b)
            .all(|(a, b)| a == b || is_wanted(&a.1, &b.1));
    if is_found {
        ours.clone_into(theirs);
    }
    is_found
}

/// Splits a message into plain text and quoted text. Quoted text includes the mark that it was cut, and `(N bytes, not printable)`.
fn quotations(message: &str) -> Vec<(bool, String)> {
    let mut parts = Vec::new();
    let mut rest = message;
    let mut plain = String::new();
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => quoted_length(rest),
            '(' => rest
                .split_once(" bytes, not printable)")
                .filter(|(number, _)| number[1..].bytes().all(|b| b.is_ascii_digit()))
                .map(|(number, _)| number.len() + " bytes, not printable)".len()),
            _ => None,
        };
        let Some(length) = length else {
            plain.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        parts.push((false, std::mem::take(&mut plain)));
        parts.push((true, rest[..length].to_owned()));
        rest = &rest[length..];
    }
    parts.push((false, plain));
    parts
}

/// The length of the quoted text at the beginning, with the mark that it was cut.
fn quoted_length(text: &str) -> Option<usize> {
    let mut escaped = false;
    let end = text[1..].char_indices().find_map(|(at, c)| {
        let is_end = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        is_end.then_some(at + 2)
    })?;
    let mark = text[end..]
        .strip_prefix("... (")
        .and_then(|mark| mark.find(" bytes)"));
    Some(match mark {
        Some(at) => end + "... (".len() + at + " bytes)".len(),
        None => end,
    })
}

/// Removes lines of the one's message. If no line is left, the one would have admitted the write, as the other does.
fn without_line(
    one: &mut WriteOutcome,
    other: &mut WriteOutcome,
    is_removed: impl Fn(&str) -> bool,
) -> bool {
    let all: Vec<_> = one.message.split('\n').collect();
    let kept: Vec<_> = all
        .iter()
        .filter(|line| !is_removed(line))
        .map(|line| (*line).to_owned())
        .collect();
    if one.author != Author::Engine || kept.len() == all.len() {
        return false;
    }
    keep(one, other, &kept);
    true
}

fn keep(one: &mut WriteOutcome, other: &WriteOutcome, kept: &[String]) {
    if kept.is_empty() {
        // The gate does not warn beside a refusal of content.
        let warnings = if one.code == 400 {
            other.warnings.clone()
        } else {
            std::mem::take(&mut one.warnings)
        };
        *one = WriteOutcome {
            warnings,
            ..other.clone()
        };
    } else {
        one.message = kept.join("\n");
    }
}
