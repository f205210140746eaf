//! The values of flags, parsed.

use berth_api::names;
use berth_api::placement::{
    AddOnScore, ClusterClaimSelector, DecisionGroup, GroupClusterSelector, PrioritizerConfig,
    ScoreCoordinate, ScoreType, Toleration, TolerationOperator,
};
use berth_api::selector::text;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::taint::spec;

pub(super) fn name(text: &str) -> Result<String, String> {
    match names::dns1123_subdomain(text).first() {
        None => Ok(text.to_owned()),
        Some(why) => Err(why.clone()),
    }
}

pub(super) fn selector(selector: &str) -> Result<LabelSelector, String> {
    text::label_selector(selector)
}

/// Parses selectors that commas separate. A comma in parentheses belongs to a selector.
pub(super) fn alternatives(list: &str) -> Result<Vec<LabelSelector>, String> {
    let mut depth = 0_usize;
    let parts = list.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(selector).collect()
}

/// A claim selector has expressions only.
pub(super) fn claims(text: &str) -> Result<ClusterClaimSelector, String> {
    let LabelSelector {
        match_labels,
        match_expressions,
    } = selector(text)?;
    let equal = match_labels.into_iter().flatten();
    let equal = equal.map(|(key, value)| LabelSelectorRequirement {
        key,
        operator: "In".to_owned(),
        values: Some(vec![value]),
    });
    let expressions = match_expressions.into_iter().flatten();
    Ok(ClusterClaimSelector {
        match_expressions: equal.chain(expressions).collect(),
    })
}

/// Parses a prioritizer as clusteradm does.
pub(super) fn prioritizer(text: &str) -> Result<PrioritizerConfig, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let (coordinate, weight) = match parts[..] {
        ["BuiltIn", name, weight] => (
            ScoreCoordinate {
                built_in: name.to_owned(),
                r#type: ScoreType::BuiltIn,
                add_on: None,
            },
            weight,
        ),
        ["AddOn", resource, score, weight] => (
            ScoreCoordinate {
                built_in: String::new(),
                r#type: ScoreType::AddOn,
                add_on: Some(AddOnScore {
                    resource_name: resource.to_owned(),
                    score_name: score.to_owned(),
                }),
            },
            weight,
        ),
        _ => {
            return Err("expected BuiltIn:NAME:WEIGHT or AddOn:RESOURCE:SCORE:WEIGHT".to_owned());
        }
    };
    let weight = weight.parse().ok().filter(|it| (-10..=10).contains(it));
    let wrong = || "the weight must be a number between -10 and 10".to_owned();
    Ok(PrioritizerConfig {
        score_coordinate: Some(coordinate),
        weight: Some(weight.ok_or_else(wrong)?),
    })
}

/// Parses `KEY[=VALUE][:EFFECT][@SECONDS]`.
pub(super) fn toleration(text: &str) -> Result<Toleration, String> {
    let (rest, seconds) = match text.rsplit_once('@') {
        None => (text, None),
        Some((rest, seconds)) => {
            let number = seconds.parse::<i64>().ok().filter(|it| *it >= 0);
            let wrong = || format!("{seconds:?} is not a number of seconds");
            (rest, Some(number.ok_or_else(wrong)?))
        }
    };
    let (rest, effect) = match rest.rsplit_once(':') {
        None => (rest, None),
        Some((rest, effect)) => (rest, Some(spec::effect(effect)?)),
    };
    let (key, value) = match rest.split_once('=') {
        None => (rest, None),
        Some((key, value)) => (key, Some(value)),
    };
    if let Some(why) = names::qualified_name(key).first() {
        return Err(format!("the key {key:?}: {why}"));
    }
    Ok(Toleration {
        effect,
        key: key.to_owned(),
        operator: match value {
            None => TolerationOperator::Exists,
            Some(_) => TolerationOperator::Equal,
        },
        toleration_seconds: seconds,
        value: value.unwrap_or_default().to_owned(),
    })
}

/// Parses `NAME:LABEL_SELECTOR`.
pub(super) fn group(text: &str) -> Result<DecisionGroup, String> {
    let parts = text.split_once(':').filter(|(name, _)| name.len() > 1);
    let (name, selected) = parts.ok_or("expected NAME:LABEL_SELECTOR, such as canary:tier=test")?;
    if let Some(why) = names::label_value(name).first() {
        return Err(format!("the name {name:?}: {why}"));
    }
    Ok(DecisionGroup {
        group_name: name.to_owned(),
        group_cluster_selector: GroupClusterSelector {
            label_selector: selector(selected)?,
            ..GroupClusterSelector::default()
        },
    })
}

/// Parses a number or a percentage, which must be positive.
pub(super) fn size(text: &str) -> Result<IntOrString, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<i32>().ok();
    let number = number.filter(|it| *it > 0 && (*it <= 100 || !text.ends_with('%')));
    match number {
        None => Err("expected a number, or a percentage between 1% and 100%".to_owned()),
        Some(_) if text.ends_with('%') => Ok(IntOrString::String(text.to_owned())),
        Some(number) => Ok(IntOrString::Int(number)),
    }
}
