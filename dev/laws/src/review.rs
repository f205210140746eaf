//! Reviews: whatever the bytes are, there is an answer; and no way of writing a review makes more of it.

use std::hash::{DefaultHasher, Hash, Hasher};

use berth_review::Webhook;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::gate::{Hub, Said, ask, now, review as asked};
use crate::mutation;
use crate::rewritten::{Style, members, rewritten};

/// How often a review is written with one of its keys twice.
const TWICE: usize = 4;

/// Bytes that are sent to the gate as an AdmissionReview, under each of its paths.
///
/// # Panics
/// A law is broken.
pub fn review(bytes: &[u8]) {
    let said = Webhook::ALL.map(|webhook| ask(Hub::Sample, webhook, bytes, now()));
    let Ok(review) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let mut dice = Rng::with_seed(hasher.finish());
    for (webhook, said) in Webhook::ALL.into_iter().zip(said) {
        let plain = asked(Hub::Sample, webhook, &review, now());
        assert!(
            plain.allowed || !said.allowed,
            "what is refused when it is written plainly is refused however it is written"
        );
        if review["request"]["resource"]["resource"] == webhook.resource() {
            laws(webhook, &review, &mut dice);
        } else {
            assert!(
                !plain.allowed,
                "nothing is allowed by a webhook of another resource"
            );
        }
    }
}

/// The laws of a review that is for this webhook.
pub(crate) fn laws(webhook: Webhook, review: &Value, dice: &mut Rng) {
    let [sample, open, closed, silent] = [Hub::Sample, Hub::Open, Hub::Closed, Hub::Silent]
        .map(|hub| (hub, asked(hub, webhook, review, now())));
    answers_decide(&sample.1, &open.1, &closed.1, &silent.1);

    // Of the hubs that do not allow it, the one that allows most.
    let refusing = [&open, &sample, &closed, &silent]
        .into_iter()
        .find(|(_, said)| !said.allowed);
    if let Some((hub, _)) = refusing {
        a_refusal_stays_one(*hub, webhook, review, dice);
    }
    a_longer_name_is_no_key(webhook, review, [&sample, &open, &closed]);
    if sample.1.reason == "undecodable" {
        return;
    }
    order_means_nothing(webhook, review, &sample.1, dice);
    what_does_not_count(webhook, review, &sample.1);
    only_changes_are_checked(webhook, review);
    if webhook.mutates() {
        for (hub, said) in [&sample, &open, &closed, &silent] {
            if said.allowed {
                mutation::laws(*hub, review, &said.patch);
            }
        }
    }
}

/// Better answers never make it worse, and for want of an answer nothing is allowed that an answer could refuse.
fn answers_decide(sample: &Said, open: &Said, closed: &Said, silent: &Said) {
    let all = [sample, open, closed, silent];
    let allowed = |said: &&Said| said.allowed;
    assert!(
        open.allowed || !all.iter().any(allowed),
        "nothing is worse for being permitted"
    );
    assert!(
        !closed.allowed || all.iter().all(allowed),
        "nothing is better for being forbidden"
    );
    assert!(
        !silent.allowed || all.iter().all(allowed),
        "what is allowed without an answer is allowed whatever the answer"
    );
    assert_eq!(
        silent.code == 500,
        open.allowed && !closed.allowed,
        "undecided is what answers decide, and nothing else: {}",
        silent.json
    );
    assert_eq!(
        sample.code == 400,
        open.code == 400,
        "no answer makes an object well-formed"
    );
    assert_eq!(
        sample.code == 400,
        closed.code == 400,
        "no answer makes an object malformed"
    );
}

fn a_refusal_stays_one(hub: Hub, webhook: Webhook, review: &Value, dice: &mut Rng) {
    let members = members(review);
    let mut styles = vec![
        Style {
            unknown_fields: true,
            ..Style::default()
        },
        Style {
            shuffled: true,
            unknown_fields: true,
            ..Style::default()
        },
    ];
    styles.extend((0..TWICE).map(|_| Style {
        twice: (members > 0).then(|| dice.usize(..members)),
        ..Style::default()
    }));
    for style in styles {
        let text = rewritten(review, style, dice);
        let said = ask(hub, webhook, text.as_bytes(), now());
        assert!(
            !said.allowed,
            "a refusal became an allowance: {style:?}: {text}"
        );
    }
}

/// Names that no rule and no object of the sample hub has.
fn a_longer_name_is_no_key(webhook: Webhook, review: &Value, said: [&(Hub, Said); 3]) {
    let suffix = "-longer".repeat(40);
    if review["request"]["object"]["spec"]["clusterSet"]
        .as_str()
        .is_some_and(|set| set.ends_with(&suffix))
    {
        return;
    }
    let mut longer = review.clone();
    for name in [
        "/request/name",
        "/request/object/metadata/name",
        "/request/oldObject/metadata/name",
    ] {
        if let Some(Value::String(name)) = longer.pointer_mut(name)
            && !name.is_empty()
        {
            name.push_str(&suffix);
        }
    }
    for (hub, before) in said {
        // What is true of an object on the sample hub is not true of another.
        let for_the_object = before.reason == "reserved-name"
            || *hub == Hub::Sample && !["accept", "join", "bind"].contains(&before.reason);
        if !before.allowed && !for_the_object {
            let said = asked(*hub, webhook, &longer, now());
            assert!(
                !said.allowed,
                "a longer name made an allowance of {}",
                before.json
            );
        }
    }
}

fn order_means_nothing(webhook: Webhook, review: &Value, said: &Said, dice: &mut Rng) {
    let style = Style {
        shuffled: true,
        ..Style::default()
    };
    let text = rewritten(review, style, dice);
    assert_eq!(
        ask(Hub::Sample, webhook, text.as_bytes(), now()),
        *said,
        "the order of keys: {text}"
    );
}

/// A dry run, the version of the review, and that the submitted object claims to be deleted.
fn what_does_not_count(webhook: Webhook, review: &Value, said: &Said) {
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut review = review.clone();
        change(&mut review);
        asked(Hub::Sample, webhook, &review, now())
    };
    let dry = !review["request"]["dryRun"].as_bool().unwrap_or_default();
    let dry_run = changed(&|review| review["request"]["dryRun"] = dry.into());
    assert_eq!(dry_run, *said, "a dry run is decided as the run is");

    let beta = changed(&|review| review["apiVersion"] = json!("admission.k8s.io/v1beta1"));
    assert_eq!(
        beta.json["response"], said.json["response"],
        "both versions are answered alike"
    );

    if review["request"]["object"]["metadata"].is_object() {
        let claim = changed(&|review| {
            review["request"]["object"]["metadata"]["deletionTimestamp"] =
                json!("2026-11-21T12:00:00Z");
        });
        assert_eq!(
            claim, *said,
            "that it is deleted is read from the stored object"
        );
    }
}

/// Nothing that is written back as it is stored is refused or changed; and an object that is being deleted has no faults.
/// Only acceptance is checked to the end: no cluster is accepted under a reserved name.
fn only_changes_are_checked(webhook: Webhook, review: &Value) {
    let object = &review["request"]["object"];
    let mut update = review.clone();
    update["request"]["operation"] = json!("UPDATE");
    let mut unchanged = update.clone();
    unchanged["request"]["oldObject"] = object.clone();
    for hub in [Hub::Closed, Hub::Silent] {
        let said = asked(hub, webhook, &unchanged, now());
        assert!(
            said.reason == "undecodable" || (said.allowed && said.patch.0.is_empty()),
            "an object that stays as it is was touched: {}",
            said.json
        );
    }
    if webhook != Webhook::ValidateBinding && update["request"]["oldObject"]["metadata"].is_object()
    {
        update["request"]["oldObject"]["metadata"]["deletionTimestamp"] =
            json!("2026-11-21T12:00:00Z");
        let said = asked(Hub::Open, webhook, &update, now());
        let accepted = |object: &str| {
            update["request"][object]["spec"]["hubAcceptsClient"] == Value::Bool(true)
        };
        let is_refused_name =
            said.reason == "reserved-name" && accepted("object") && !accepted("oldObject");
        assert!(
            said.reason == "undecodable"
                || is_refused_name
                || (said.allowed && said.patch.0.is_empty()),
            "an object that is being deleted was checked: {}",
            said.json
        );
    }
}
