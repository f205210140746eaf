//! Add-ons whose agent another cluster hosts.

use super::*;

/// A ConfigMap and a hook on the cluster, and the same on the one that hosts the agent.
pub(super) fn hosted() -> Value {
    let mut all = Vec::new();
    for (location, suffix) in [("managed", ""), ("hosting", "-hosted")] {
        for mut object in with_hook().as_array().unwrap().clone() {
            let key = "addon.open-cluster-management.io/hosted-manifest-location";
            object["metadata"]["annotations"][key] = json!(location);
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            object["metadata"]["name"] = json!(name + suffix);
            all.push(object);
        }
    }
    json!(all)
}

#[test]
fn a_hosted_add_on_is_on_both_clusters_and_leaves_both() {
    let mut play = Play::new(&hosted());
    play.hosting = Hosting::By("h");
    let mut play = play.registered();
    for count in 1..=3 {
        assert_eq!(play.step(), format!("metadata, {count} finalizers"));
    }
    assert_eq!(play.step(), "make Some(Deploy)");
    play.done.push(Part::Deploy);
    assert_eq!(play.step(), "make Some(HostedDeploy)");
    play.done.push(Part::HostedDeploy);
    let own = work("addon-x-deploy-0", Some("True"), None);
    let hosted = |status| work_in("h", "addon-x-deploy-hosting-c1-0", Some(status), None);
    play.works = vec![own.clone(), hosted("False")];
    assert_eq!(play.step(), "report");
    assert!(play.condition("ManifestApplied").starts_with("True"));
    assert_eq!(
        play.condition("HostingManifestApplied"),
        "False AddonManifestAppliedFailed: failed to apply the manifests of addon"
    );
    assert_eq!(
        play.condition("HostingClusterValidity"),
        "True HostingClusterValid: hosting cluster h is a managed cluster of the hub"
    );
    play.works = vec![own, hosted("True")];
    assert_eq!(play.step(), "report");
    assert!(play.condition("Available").starts_with("True"));

    play.delete();
    assert_eq!(play.step(), "make Some(Hooks)");
    play.done.push(Part::Hooks);
    let complete = Some("JobComplete");
    play.works
        .push(work("addon-x-pre-delete", Some("True"), complete));
    assert_eq!(play.step(), "report");
    assert_eq!(play.step(), "metadata, 2 finalizers");
    assert_eq!(play.step(), "make Some(HostedHooks)");
    play.done.push(Part::HostedHooks);
    let mut ran = work_in("h", "addon-x-pre-delete-hosting-c1", Some("True"), complete);
    let reported = ran.reported.status.as_mut().unwrap();
    reported.resource_status.manifests[0].resource_meta.name = "j-hosted".to_owned();
    play.works.push(ran);
    assert_eq!(play.step(), "report");
    assert_eq!(play.step(), "metadata, 1 finalizers");
    for name in [
        "addon-x-deploy-hosting-c1-0",
        "addon-x-pre-delete-hosting-c1",
    ] {
        let why = "the add-on on the hosted cluster is being deleted";
        assert_eq!(play.step(), format!("delete {name}: {why}"));
        play.works
            .retain(|it| it.reported.metadata.name.as_deref() != Some(name));
    }
    assert_eq!(play.step(), "metadata, 0 finalizers");
    assert_eq!(play.step(), "nothing");
}

#[test]
fn a_cluster_that_hosts_an_add_on_no_more_loses_it() {
    for (sentence, hosting, validity) in [
        ("it is to be on its own", Hosting::Own, ""),
        (
            "by another one",
            Hosting::By("other"),
            "True HostingClusterValid",
        ),
        (
            "the cluster is gone",
            Hosting::Missing("h"),
            "False HostingClusterInvalid",
        ),
    ] {
        let mut play = Play::new(&config_map());
        play.hosting = Hosting::By("h");
        let mut play = play.registered();
        assert_eq!(play.step(), "metadata, 1 finalizers");
        play.hosting = hosting;
        play.works = vec![work_in(
            "h",
            "addon-x-deploy-hosting-c1-0",
            Some("True"),
            None,
        )];
        assert_eq!(
            play.step(),
            "delete addon-x-deploy-hosting-c1-0: its cluster does not host the agent of the add-on",
            "{sentence}"
        );
        play.works = vec![work("addon-x-deploy-0", Some("True"), None)];
        if hosting != Hosting::By("other") {
            assert_eq!(play.step(), "metadata, 0 finalizers", "{sentence}");
        }
        play.done = vec![Part::Deploy, Part::HostedDeploy];
        assert_eq!(play.step(), "report");
        let found = play.condition("HostingClusterValidity");
        assert!(found.starts_with(validity), "{sentence}: {found}");
        assert_eq!(found.is_empty(), validity.is_empty(), "{sentence}: {found}");
    }
}

#[test]
fn hooks_of_a_host_that_is_gone_are_not_waited_for() {
    let mut play = Play::new(&hosted());
    play.hosting = Hosting::By("h");
    let mut play = play.registered();
    for count in 1..=3 {
        assert_eq!(play.step(), format!("metadata, {count} finalizers"));
    }
    play.on["metadata"]["finalizers"] = json!([
        "addon.open-cluster-management.io/hosting-addon-pre-delete",
        "addon.open-cluster-management.io/hosting-manifests-cleanup",
    ]);
    play.delete();
    play.hosting = Hosting::Missing("h");
    assert_eq!(play.step(), "metadata, 1 finalizers");
    assert_eq!(play.step(), "metadata, 0 finalizers");
}
