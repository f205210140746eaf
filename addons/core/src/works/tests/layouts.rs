//! Which objects are in which works, and what else the works say.

use berth_api::addon::ConfigReference;
use berth_api::work::{DeletePropagationPolicy, ManifestConfigOption};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::{
    KIB, Layout, Place, Rendered, Request, config_map, laid_out, layout, names, rendered, stored,
    stored_as,
};
use crate::works::parts::{Parts, divide};

fn expected(works: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    let own = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
    works
        .iter()
        .map(|(work, names)| ((*work).to_owned(), own(names)))
        .collect()
}

#[test]
fn objects_are_split_and_do_not_move() {
    // 37: 600 KiB of manifests.
    let mut objects = vec![
        config_map("a", 100 * KIB),
        config_map("b", 200 * KIB),
        config_map("c", 300 * KIB),
    ];
    let first = laid_out(&objects, &[]).unwrap();
    let works = [
        ("addon-x-deploy-0", &["c"][..]),
        ("addon-x-deploy-1", &["b", "a"]),
    ];
    assert_eq!(names(&first), expected(&works));

    // A later change: nothing moves, and the new object goes where there is most room.
    objects.reverse();
    objects[0] = config_map("c", 10 * KIB);
    objects.push(config_map("d", 90 * KIB));
    let second = laid_out(&objects, &stored(&first)).unwrap();
    let works = [
        ("addon-x-deploy-0", &["c", "d"][..]),
        ("addon-x-deploy-1", &["b", "a"]),
    ];
    assert_eq!(names(&second), expected(&works));

    // What is gone leaves its work, and an empty work goes.
    let third = laid_out(&objects[1..3], &stored(&second)).unwrap();
    assert_eq!(
        names(&third),
        expected(&[("addon-x-deploy-1", &["b", "a"])])
    );
    assert_eq!(third.unneeded, ["addon-x-deploy-0"]);
}

#[test]
fn a_new_work_never_has_the_name_of_a_stored_one() {
    let big = |name| config_map(name, 350 * KIB);
    let value = |name| big(name).object;
    let mut dying = stored_as("addon-x-deploy-4", &[]);
    dying.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
    for (sentence, existing, works) in [
        (
            "no works",
            vec![],
            &[
                ("addon-x-deploy-0", &["a"][..]),
                ("addon-x-deploy-1", &["b"]),
            ][..],
        ),
        (
            "numbers with a hole",
            vec![stored_as("addon-x-deploy-2", &[value("a")])],
            &[("addon-x-deploy-2", &["a"]), ("addon-x-deploy-3", &["b"])],
        ),
        (
            "a work that is being deleted",
            vec![dying, stored_as("addon-x-deploy-0", &[value("a")])],
            &[("addon-x-deploy-0", &["a"]), ("addon-x-deploy-5", &["b"])],
        ),
        (
            "works of other places and names",
            vec![
                stored_as("addon-x-deploy-hosting-n-9", &[]),
                stored_as("addon-x-pre-delete", &[]),
                stored_as("addon-x-deploy-07", &[]),
                stored_as("addon-x-deploy-+7", &[]),
                stored_as("addon-x-deploy-99999999999", &[]),
                stored_as("other", &[]),
            ],
            &[("addon-x-deploy-0", &["a"]), ("addon-x-deploy-1", &["b"])],
        ),
    ] {
        let layout = laid_out(&[big("a"), big("b")], &existing).unwrap();
        assert_eq!(names(&layout), expected(works), "{sentence}");
        assert_eq!(layout.unneeded, Vec::<String>::new(), "{sentence}");
    }
}

#[test]
fn an_object_that_fits_no_work_is_an_error() {
    assert!(laid_out(&[config_map("a", 499 * KIB)], &[]).is_ok());
    let error = laid_out(&[config_map("b", 501 * KIB)], &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "ConfigMap n/b: 513118 bytes; a ManifestWork takes at most 512000"
    );
}

#[test]
fn only_what_has_grown_moves_out_of_a_work_that_gets_too_large() {
    let first = laid_out(
        &[config_map("a", 150 * KIB), config_map("b", 200 * KIB)],
        &[],
    )
    .unwrap();
    let existing = stored(&first);
    // Up to the bound of a work, all stays.
    let objects = [config_map("a", 290 * KIB), config_map("b", 200 * KIB)];
    let layout = laid_out(&objects, &existing).unwrap();
    assert_eq!(
        names(&layout),
        expected(&[("addon-x-deploy-0", &["b", "a"])])
    );
    let objects = [config_map("a", 310 * KIB), config_map("b", 200 * KIB)];
    let layout = laid_out(&objects, &existing).unwrap();
    let works = [
        ("addon-x-deploy-0", &["b"][..]),
        ("addon-x-deploy-1", &["a"]),
    ];
    assert_eq!(names(&layout), expected(&works));
}

#[test]
fn of_two_objects_with_one_name_the_last_one_counts() {
    let layout = laid_out(
        &[config_map("a", 5), config_map("b", 1), config_map("a", 2)],
        &[],
    )
    .unwrap();
    assert_eq!(
        names(&layout),
        expected(&[("addon-x-deploy-0", &["a", "b"])])
    );
    let manifest: Value = layout.works[0].spec.workload.manifests[0].read().unwrap();
    assert_eq!(manifest["data"]["k"], "vv");
}

#[test]
fn works_are_named_and_labelled_by_place() {
    let of = |place| {
        let layout = layout(&Request {
            addon: "x",
            place,
            objects: &[config_map("a", 1)],
            manifest_configs: &[],
            configs: &[],
            existing: &[],
        });
        let mut work = layout.unwrap().works.remove(0);
        let label = work.labels.remove("open-cluster-management.io/addon-name");
        assert_eq!(label.as_deref(), Some("x"));
        (work.name, work.labels.into_iter().next())
    };
    let addon_namespace = "c1";
    let label = || {
        Some((
            "open-cluster-management.io/addon-namespace".to_owned(),
            "c1".to_owned(),
        ))
    };
    for (place, name, labels) in [
        (Place::Deploy, "addon-x-deploy-0", None),
        (
            Place::HostedDeploy { addon_namespace },
            "addon-x-deploy-hosting-c1-0",
            label(),
        ),
        (Place::Hook, "addon-x-pre-delete", None),
        (
            Place::HostedHook { addon_namespace },
            "addon-x-pre-delete-hosting-c1",
            label(),
        ),
    ] {
        assert_eq!(of(place), (name.to_owned(), labels));
        assert!(crate::works::is_of_addon("x", "c1", name));
    }
    assert!(!crate::works::is_of_addon("x", "c1", "addon-y-deploy-0"));
}

#[test]
fn works_name_the_configs_that_they_were_made_with() {
    let configs: Vec<ConfigReference> = serde_json::from_value(json!([
        {
            "group": "addon.open-cluster-management.io",
            "resource": "addontemplates",
            "desiredConfig": {"name": "t", "specHash": "1"},
        },
        {"group": "", "resource": "configmaps", "desiredConfig": {"namespace": "n", "name": "c", "specHash": "2"}},
        {"group": "g", "resource": "undecided"},
    ]))
    .unwrap();
    let of = |configs: &[ConfigReference]| {
        let layout = layout(&Request {
            addon: "x",
            place: Place::Deploy,
            objects: &[config_map("a", 1)],
            manifest_configs: &[],
            configs,
            existing: &[],
        });
        layout.unwrap().works.remove(0).annotations
    };
    let annotations = of(&configs);
    assert_eq!(
        annotations["open-cluster-management.io/config-spec-hash"],
        r#"{"addontemplates.addon.open-cluster-management.io//t":"1","configmaps/n/c":"2"}"#
    );
    assert!(of(&[]).is_empty());
}

#[test]
fn the_status_of_workloads_is_reported_beside_what_the_template_asks_for() {
    let object = |kind: &str, name: &str| {
        rendered(json!({
            "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "n"},
        }))
    };
    let of_template: Vec<ManifestConfigOption> = serde_json::from_value(json!([
        {
            "resourceIdentifier": {"group": "apps", "resource": "deployments", "name": "a", "namespace": "n"},
            "updateStrategy": {"type": "CreateOnly"},
            "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "p", "path": ".a"}]}],
        },
        {
            "resourceIdentifier": {"group": "apps", "resource": "daemonsets", "name": "b", "namespace": "n"},
            "feedbackRules": [{"type": "WellKnownStatus"}],
        },
    ]))
    .unwrap();
    let layout = layout(&Request {
        addon: "x",
        place: Place::Deploy,
        objects: &[
            object("Deployment", "a"),
            object("DaemonSet", "b"),
            object("Deployment", "c"),
            object("StatefulSet", "d"),
        ],
        manifest_configs: &of_template,
        configs: &[],
        existing: &[],
    });
    let configs = layout.unwrap().works.remove(0).spec.manifest_configs;
    let expected = json!([
        {
            "resourceIdentifier": {"group": "apps", "resource": "deployments", "name": "a", "namespace": "n"},
            "updateStrategy": {"type": "CreateOnly"},
            "feedbackRules": [
                {"type": "JSONPaths", "jsonPaths": [{"name": "p", "path": ".a"}]},
                {"type": "WellKnownStatus"},
            ],
        },
        {
            "resourceIdentifier": {"group": "apps", "resource": "daemonsets", "name": "b", "namespace": "n"},
            "feedbackRules": [{"type": "WellKnownStatus"}],
        },
        {
            "resourceIdentifier": {"group": "apps", "resource": "deployments", "name": "c", "namespace": "n"},
            "feedbackRules": [{"type": "WellKnownStatus"}],
        },
    ]);
    let expected: Vec<ManifestConfigOption> = serde_json::from_value(expected).unwrap();
    assert_eq!(configs, expected);
}

#[test]
fn objects_marked_as_orphans_stay_when_the_work_goes() {
    let mut orphan = config_map("a", 1);
    orphan.object["metadata"]["annotations"] =
        json!({"addon.open-cluster-management.io/deletion-orphan": ""});
    let layout = laid_out(&[orphan, config_map("b", 1)], &[]).unwrap();
    let option = layout.works[0].spec.delete_option.clone().unwrap();
    assert_eq!(
        option.propagation_policy,
        DeletePropagationPolicy::SelectivelyOrphan
    );
    let rules = option.selectively_orphans.unwrap().orphaning_rules;
    assert_eq!(
        serde_json::to_value(rules).unwrap(),
        json!([{"resource": "configmaps", "name": "a", "namespace": "n"}])
    );
    let layout = laid_out(&[config_map("b", 1)], &[]).unwrap();
    assert_eq!(layout.works[0].spec.delete_option, None);
}

fn marked(kind: &str, name: &str, marks: &str, key: &str, value: &str) -> Rendered {
    let api_version = if kind == "Job" { "batch/v1" } else { "v1" };
    rendered(json!({
        "apiVersion": api_version, "kind": kind, "metadata": {"name": name, marks: {key: value}},
    }))
}

#[test]
fn hooks_are_apart_from_what_is_deployed() {
    let key = "addon.open-cluster-management.io/addon-pre-delete";
    let former = "open-cluster-management.io/addon-pre-delete";
    // 38.
    let hooks = vec![
        marked("Job", "a", "annotations", key, ""),
        marked("Pod", "b", "labels", key, "x"),
        marked("Job", "c", "labels", former, ""),
    ];
    let deploy = vec![
        marked("ConfigMap", "d", "annotations", key, ""),
        marked("Job", "e", "annotations", former, ""),
        config_map("f", 1),
    ];
    let parts = divide([hooks.clone(), deploy.clone()].concat(), false).unwrap();
    let expected = Parts {
        deploy,
        hooks,
        ..Parts::default()
    };
    assert_eq!(parts, expected);
}

#[test]
fn in_hosted_mode_the_location_decides() {
    let key = "addon.open-cluster-management.io/hosted-manifest-location";
    let at = |name: &str, location: &str| marked("ConfigMap", name, "annotations", key, location);
    let hook = |mut rendered: Rendered| {
        rendered.object["kind"] = "Pod".into();
        rendered.object["metadata"]["labels"] =
            json!({"addon.open-cluster-management.io/addon-pre-delete": ""});
        rendered
    };
    let all = vec![
        at("a", "managed"),
        at("b", "hosting"),
        at("c", "none"),
        config_map("d", 1),
        marked("ConfigMap", "e", "labels", key, "hosting"),
        hook(at("f", "hosting")),
        hook(at("g", "managed")),
    ];
    let pick = |indexes: &[usize]| {
        indexes
            .iter()
            .map(|it| all[*it].clone())
            .collect::<Vec<_>>()
    };
    let expected = Parts {
        deploy: pick(&[0, 3]),
        hosted_deploy: pick(&[1, 4]),
        hooks: pick(&[6]),
        hosted_hooks: pick(&[5]),
    };
    assert_eq!(divide(all.clone(), true), Ok(expected));
    let expected = Parts {
        deploy: pick(&[0, 1, 2, 3, 4]),
        hooks: pick(&[5, 6]),
        ..Parts::default()
    };
    assert_eq!(divide(all.clone(), false), Ok(expected));
    let error = divide(vec![at("a", "elsewhere")], true).unwrap_err();
    assert_eq!(
        error,
        r#"ConfigMap a: hosted-manifest-location "elsewhere" is not one of managed, hosting, none"#
    );
    assert!(divide(vec![at("a", "elsewhere")], false).is_ok());
}

#[test]
fn all_hooks_are_in_one_work() {
    let hook = |name: &str, kib: usize| {
        let mut hook = config_map(name, kib * KIB);
        hook.object["apiVersion"] = "batch/v1".into();
        hook.object["kind"] = "Job".into();
        hook
    };
    let of = |objects: &[Rendered]| {
        layout(&Request {
            addon: "x",
            place: Place::Hook,
            objects,
            manifest_configs: &[],
            configs: &[],
            existing: &[],
        })
    };
    let works: Layout = of(&[hook("a", 240), hook("b", 240)]).unwrap();
    assert_eq!(
        names(&works),
        expected(&[("addon-x-pre-delete", &["a", "b"])])
    );
    let rules = &works.works[0].spec.manifest_configs[0].feedback_rules;
    let expected = json!([
        {"type": "WellKnownStatus"},
        {"type": "JSONPaths", "jsonPaths": [{"name": "JobFailed", "path": ".status.conditions[?(@.type==\"Failed\")].status"}]},
    ]);
    assert_eq!(serde_json::to_value(rules).unwrap(), expected);
    let error = of(&[hook("a", 300), hook("b", 300)])
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("all hooks before deletion together: 614"),
        "{error}"
    );
}
