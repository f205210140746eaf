//! ManagedClusters: content, acceptance and set, in one policy. The order of policies is not defined, and users see only the
//! first refusal.

use crate::guard::Guard;
use crate::options::{Kubernetes, Options};
use crate::policy::{Code, Policy, Target};
use crate::template::Template;

/// The permissions that a change may lack: the variable that is true if it does, and the one with the sentence.
const PERMISSIONS: [(&str, &str); 3] = [
    ("lacksAccept", "acceptDenied"),
    ("lacksOldSet", "oldSetDenied"),
    ("lacksNewSet", "newSetDenied"),
];

/// Refuses faults of content, times that the requester set, reserved names and missing permissions.
pub(crate) fn policy(template: &Template, options: &Options) -> Policy {
    let mut policy = Policy::validating("", Target::CLUSTERS)
        .when(Guard::Cluster.name(), Guard::Cluster.fill(template))
        .variables(
            template,
            "clusters",
            &[
                "name",
                "user",
                "checked",
                "wasAccepted",
                "isAccepted",
                "configs",
                "oldConfigs",
                "taints",
                "oldTaints",
                "longTaints",
                "longConfigs",
                "text",
                "oldText",
                "tooLarge",
                "tooLong",
                "nameFaults",
                "configFaults",
                "leaseFaults",
                "kinds",
                "taintFaults",
                "faults",
            ],
        );
    policy = policy.require(
        Code::Invalid,
        "variables.tooLong.size() == 0".to_owned(),
        "variables.tooLong.join('; ')".to_owned(),
    );
    // Without a MutatingAdmissionPolicy, the webhook writes the times, by its own clock.
    if options.kubernetes >= Kubernetes::V1_36 {
        policy = times(policy, template);
    }
    policy = policy
        .require(
            Code::Invalid,
            "variables.faults.size() == 0".to_owned(),
            template.fill("{{listed variables.faults}}"),
        )
        .variables(
            template,
            "clusters",
            &[
                "reserved",
                "reservedPrefix",
                "introduced",
                "deniedNow",
                "changesAcceptance",
                "oldSet",
                "newSet",
                "lacksAccept",
                "lacksOldSet",
                "lacksNewSet",
                "reservedDenied",
                "acceptDenied",
                "oldSetDenied",
                "newSetDenied",
            ],
        )
        .require(
            Code::Forbidden,
            "!variables.introduced || variables.reserved == ''".to_owned(),
            template.fill(
                "variables.reserved == '' ? '' : {{say reservedName | variables.name | variables.reserved}}",
            ),
        );
    missing_permissions(policy).require(
        Code::Forbidden,
        "variables.reservedDenied.size() == 0".to_owned(),
        "variables.reservedDenied.join('; ')".to_owned(),
    )
}

fn times(policy: Policy, template: &Template) -> Policy {
    policy
        .variables(
            template,
            "clusters",
            &["clock", "now", "oldIds", "oldTimes", "refusedTimes", "forgedClock"],
        )
        .require(
            Code::Invalid,
            "variables.refusedTimes.size() == 0".to_owned(),
            template.at("clusters/refusedTimesMessage"),
        )
        .require_or_say(
            Code::Invalid,
            "!variables.forgedClock".to_owned(),
            "metadata.managedFields: Invalid value: entries of more than one time: leave managedFields out when you change taints",
        )
}

/// A validation for each combination of missing permissions, the largest first: a sentence cannot ask the authorizer what is
/// missing, but the first validation that fails has its own sentence.
fn missing_permissions(mut policy: Policy) -> Policy {
    let mut combinations: Vec<usize> = (1..1 << PERMISSIONS.len()).collect();
    combinations.sort_by_key(|combination| {
        // Bits are reversed, so that combinations with earlier permissions come first.
        (
            std::cmp::Reverse(combination.count_ones()),
            combination.reverse_bits().wrapping_neg(),
        )
    });
    for combination in combinations {
        let members: Vec<_> = PERMISSIONS
            .iter()
            .enumerate()
            .filter(|(index, _)| combination & (1 << index) != 0)
            .map(|(_, permission)| *permission)
            .collect();
        let lacks: Vec<_> = members
            .iter()
            .map(|(lacks, _)| format!("variables.{lacks}"))
            .collect();
        let denied: Vec<_> = members
            .iter()
            .map(|(_, denied)| format!(" + variables.{denied}"))
            .collect();
        policy = policy.require(
            Code::Forbidden,
            match &*lacks {
                [lacks] => format!("!{lacks}"),
                lacks => format!("!({})", lacks.join(" && ")),
            },
            format!("(variables.reservedDenied{}).join('; ')", denied.concat()),
        );
    }
    policy
}

/// Warns about sets, the retired label and reserved names.
pub(crate) fn warnings(template: &Template, options: &Options) -> Policy {
    let mut policy = Policy::validating("warnings", Target::CLUSTERS)
        .ignoring_failures()
        .warning()
        .when(Guard::Cluster.name(), Guard::Cluster.fill(template))
        .variables(
            template,
            "clusters",
            &[
                "name",
                "user",
                "wasAccepted",
                "isAccepted",
                "oldSet",
                "newSet",
                "reserved",
            ],
        );
    if options.mutates() && options.settings.gates.default_cluster_set {
        policy = policy.require(
            Code::Invalid,
            template.at("warnings/inSet"),
            template.fill("{{say notInDefaultSet | variables.name}}"),
        );
    }
    policy
        .require(
            Code::Invalid,
            template.at("warnings/possibleSet"),
            template.fill("{{say impossibleSet | variables.newSet}}"),
        )
        .require_or_say(
            Code::Invalid,
            template.at("warnings/retiredLabel"),
            &berth_rules::sentences::warnings::retired_label(),
        )
        .require(
            Code::Invalid,
            template.at("warnings/reservedName"),
            template.fill("{{say reservedNameKept | variables.name | variables.reserved}}"),
        )
}
