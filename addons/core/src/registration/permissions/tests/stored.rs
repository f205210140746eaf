//! What is written beside what is stored, and whether that suffices.

use std::collections::BTreeMap;

use berth_api::plan::{Action, Write};
use k8s_openapi::api::rbac::v1::RoleBinding;
use serde_json::Value;

use super::{OCM, agent, certificates, current, single, template, token};
use crate::registration::permissions::{Agent, Granted, granted, permissions, writes};

/// The bindings after these writes, as the API server stores them.
fn applied(stored: &[RoleBinding], writes: &[Write]) -> Vec<RoleBinding> {
    let place = |it: &RoleBinding| (it.metadata.namespace.clone(), it.metadata.name.clone());
    let mut all: BTreeMap<_, _> = stored.iter().map(|it| (place(it), it.clone())).collect();
    for write in writes {
        let target = &write.target;
        let at = (target.namespace.clone(), Some(target.name.clone()));
        let found = all.remove(&at);
        let read = |body: &Value| serde_json::from_value::<RoleBinding>(body.clone()).unwrap();
        match (&write.action, found) {
            (Action::Delete { .. }, Some(_)) => {}
            (Action::Create { body }, None) => drop(all.insert(at, read(body))),
            (Action::Replace { body, .. }, Some(found)) => {
                let changed = read(body);
                assert_eq!(changed.role_ref, found.role_ref, "roles cannot be changed");
                all.insert(at, changed);
            }
            (action, found) => panic!("{action:?} of {found:?}"),
        }
    }
    all.into_values().collect()
}

/// The bindings of a namespace.
fn by_namespace<'a>(all: &'a [RoleBinding]) -> impl Fn(&str) -> Vec<&'a RoleBinding> {
    let mut sorted: BTreeMap<&str, Vec<&RoleBinding>> = BTreeMap::new();
    for it in all {
        let namespace = it.metadata.namespace.as_deref().unwrap();
        sorted.entry(namespace).or_default().push(it);
    }
    move |namespace| sorted.get(namespace).cloned().unwrap_or_default()
}

/// The bindings that this leads to. Nothing is written a second time, and each agent has what its template asks for.
fn settled(agents: &[Agent<'_>], stored: &[RoleBinding]) -> Vec<RoleBinding> {
    let all = applied(stored, &writes(&permissions("x", agents, stored), stored));
    let again = permissions("x", agents, &all);
    assert_eq!(writes(&again, &all), [], "nothing is written twice");
    let within = by_namespace(&all);
    for agent in agents {
        let found = granted("x", agent, |it| within(it));
        assert_eq!(found, Granted::All, "{}", agent.cluster);
    }
    drop(within);
    all
}

/// Each change of what templates ask for leads from the bindings before to those that are asked for.
#[test]
fn what_is_written_suffices_and_is_written_once() {
    let of = |all: &[Value]| template(all);
    let templates = [
        of(&[]),
        of(&[current("r")]),
        of(&[current("r"), current("s")]),
        of(&[current("s"), single("n", "ClusterRole", "r")]),
        of(&[
            single("n", "Role", "r"),
            single("c1", "ClusterRole", "r"),
            current("r"),
        ]),
    ];
    let registrations = [certificates("c1"), certificates("c2"), token("c3")];
    let agents = |template| {
        ["c1", "c2", "c3"]
            .into_iter()
            .zip(&registrations)
            .map(move |(cluster, registrations)| agent(cluster, template, registrations))
    };
    for before in &templates {
        for after in &templates {
            let stored = settled(&agents(before).collect::<Vec<_>>(), &[]);
            let now = settled(&agents(after).collect::<Vec<_>>(), &stored);
            let anew = settled(&agents(after).collect::<Vec<_>>(), &[]);
            let grants = |all: &[RoleBinding]| {
                let mut all: Vec<_> = all
                    .iter()
                    .map(|it| {
                        let subjects = it.subjects.iter().flatten().map(|it| it.name.clone());
                        let namespace = it.metadata.namespace.clone();
                        (
                            namespace,
                            (it.role_ref.kind.clone(), it.role_ref.name.clone()),
                            subjects.collect::<Vec<_>>(),
                        )
                    })
                    .collect();
                all.sort_unstable();
                all
            };
            assert_eq!(grants(&now), grants(&anew), "from {before:?} to {after:?}");
            assert_eq!(settled(&[], &now), [], "none is left");
        }
    }
}

#[test]
fn what_others_add_to_a_binding_stays() {
    let (template, registrations) = (template(&[current("r")]), certificates("c1"));
    let agents = [agent("c1", &template, &registrations)];
    let mut stored = settled(&agents, &[]);
    let metadata = &mut stored[0].metadata;
    metadata.uid = Some("u".to_owned());
    metadata.resource_version = Some("7".to_owned());
    metadata.annotations = Some([("mine".to_owned(), "yes".to_owned())].into());
    let label = ("of".to_owned(), "users".to_owned());
    metadata.labels.as_mut().unwrap().extend([label]);
    // OCM's version of the owner.
    metadata.owner_references.as_mut().unwrap()[0].api_version = "a/v1alpha1".to_owned();
    assert_eq!(settled(&agents, &stored), stored);
    let mut less = stored.clone();
    less[0].subjects.as_mut().unwrap().remove(0);
    assert_eq!(settled(&agents, &less), stored);
    let mut owner = stored.clone();
    owner[0].metadata.owner_references = None;
    let mended = settled(&agents, &owner).remove(0).metadata;
    assert_eq!(mended.owner_references.unwrap()[0].uid, "c1");
    assert_eq!(mended.annotations, stored[0].metadata.annotations);
    // A write concerns the binding as it was read.
    let found = permissions("x", &[], &stored);
    let [write] = &writes(&found, &stored)[..] else {
        panic!()
    };
    let Action::Delete {
        uid,
        resource_version,
        ..
    } = &write.action
    else {
        panic!()
    };
    assert_eq!((&**uid, resource_version.as_deref()), ("u", Some("7")));
}

#[test]
fn an_agent_without_its_subjects_lacks_its_permission() {
    let (template, registrations) = (
        template(&[current("r"), single("n", "Role", "r")]),
        certificates("c1"),
    );
    let one = agent("c1", &template, &registrations);
    let stored = settled(&[one], &[]);
    let (own, shared) = (&stored[0], &stored[1]);
    type Change = fn(&mut RoleBinding);
    let table: [(&str, Change); 5] = [
        ("a subject is missing", |it| {
            drop(it.subjects.as_mut().unwrap().remove(1))
        }),
        ("nobody is bound", |it| it.subjects = None),
        ("another role", |it| it.role_ref.name.push('x')),
        ("another kind of role", |it| {
            it.role_ref.kind = "Role".to_owned()
        }),
        ("a user's binding", |it| it.metadata.labels = None),
    ];
    for (what, change) in table {
        let mut own = own.clone();
        change(&mut own);
        let all = [own, shared.clone()];
        let within = by_namespace(&all);
        let missing = Granted::Missing(vec!["c1".to_owned()]);
        assert_eq!(granted("x", &one, |it| within(it)), missing, "{what}");
    }
    let no_subject = agent("c1", &template, &[]);
    assert_eq!(granted("x", &no_subject, |_| &stored), Granted::NoSubject);
}

/// As many clusters as Berth is made for.
#[test]
fn ten_thousand_clusters_have_a_binding_each_and_share_one() {
    let template = template(&[current("r"), single("shared", "ClusterRole", "r")]);
    let names: Vec<_> = (0..10_000).map(|it| format!("c{it}")).collect();
    let registrations: Vec<_> = names.iter().map(|it| certificates(it)).collect();
    let agents: Vec<_> = names
        .iter()
        .zip(&registrations)
        .map(|(name, registrations)| agent(name, &template, registrations))
        .collect();
    let stored = settled(&agents, &[]);
    assert_eq!(stored.len(), 10_001);
    let shared = stored
        .iter()
        .find(|it| it.metadata.namespace.as_deref() == Some("shared"));
    let subjects = shared.unwrap().subjects.as_ref().unwrap();
    assert_eq!(subjects.len(), 1, "the group of all");
    let found = permissions("x", &agents[1..], &stored);
    assert_eq!(found.unwanted, [("c0".to_owned(), OCM.to_owned())]);
    assert_eq!(
        writes(&found, &stored).len(),
        1,
        "the others are not touched"
    );
}
