use serde_json::json;

use super::*;

fn read(manifest: Value) -> Result<Prescribed, String> {
    prescribed(3, &Manifest::new(&manifest).unwrap()).map_err(|error| error.to_string())
}

#[test]
fn a_manifest_names_one_object() {
    for (manifest, expected) in [
        (json!([]), "the manifest is not an object"),
        (json!("x"), "the manifest is not an object"),
        (
            json!({}),
            "the manifest has no apiVersion: set it to a string",
        ),
        (
            json!({"apiVersion": 1, "kind": "K"}),
            "the manifest has no apiVersion: set it to a string",
        ),
        (
            json!({"apiVersion": "v1"}),
            "the manifest has no kind: set it to a string",
        ),
        (
            json!({"apiVersion": "v1", "kind": "K"}),
            "the manifest has no metadata.name: set it to a string",
        ),
        (
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": ""}}),
            "the manifest has no metadata.name: set it to a string",
        ),
        (
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"generateName": "k-"}}),
            "the manifest of kind K has metadata.generateName: set metadata.name, because each pass would create another object",
        ),
        (
            json!({"apiVersion": "v1", "kind": "List", "items": []}),
            "the manifest is a List: give each of its items as a manifest of its own",
        ),
        (
            json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": []}),
            "the manifest is a ConfigMapList: give each of its items as a manifest of its own",
        ),
    ] {
        assert_eq!(
            read(manifest.clone()),
            Err(expected.to_owned()),
            "{manifest}"
        );
    }
    let denylist =
        read(json!({"apiVersion": "x.io/v1", "kind": "DenyList", "metadata": {"name": "a"}}))
            .unwrap();
    assert_eq!(
        (denylist.group(), denylist.version(), denylist.ordinal),
        ("x.io", "v1", 3)
    );
}

#[test]
fn a_name_is_one_segment_of_a_path() {
    let with = |namespace: &str, name: &str| {
        read(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": name}}),
        )
    };
    for (namespace, name, expected) in [
        (
            "n",
            "web:8080/proxy/x",
            "metadata.name \"web:8080/proxy/x\"",
        ),
        ("n", "web%2Fproxy", "metadata.name \"web%2Fproxy\""),
        ("n", ".", "metadata.name \".\""),
        ("n", "..", "metadata.name \"..\""),
        ("n/web", "proxy", "metadata.namespace \"n/web\""),
        ("..", "proxy", "metadata.namespace \"..\""),
        ("%2e", "proxy", "metadata.namespace \"%2e\""),
    ] {
        assert_eq!(
            with(namespace, name).map(|it| it.name),
            Err(format!(
                "{expected} cannot be used in a path: it must not be \".\" or \"..\", and must not contain / or %"
            )),
        );
    }
    for name in ["a.b", "...", "system:node", "a_b"] {
        assert_eq!(with("", name).map(|it| it.name), Ok(name.to_owned()));
    }
}

#[test]
fn group_and_version_are_dns_words() {
    let with = |api_version: &str| {
        read(json!({"apiVersion": api_version, "kind": "Pod", "metadata": {"name": "a"}}))
            .map(|it| it.api_version)
    };
    for (api_version, part, value) in [
        ("v1?x=", "version", "v1?x="),
        ("v1#", "version", "v1#"),
        ("v1%2F..", "version", "v1%2F.."),
        ("..", "version", ".."),
        ("v1.2", "version", "v1.2"),
        ("apps/", "version", ""),
        ("apps/v1/namespaces", "version", "v1/namespaces"),
        ("apps/v1?x=", "version", "v1?x="),
        ("/v1", "group", ""),
        ("../v1", "group", ".."),
        ("apps?/v1", "group", "apps?"),
        ("apps%2F/v1", "group", "apps%2F"),
    ] {
        let rule = match part {
            "version" => "a DNS label: lower-case letters, digits and -",
            _ => "a DNS subdomain: lower-case letters, digits, - and .",
        };
        assert_eq!(
            with(api_version),
            Err(format!(
                "the {part} {value:?} of apiVersion {api_version:?} is not {rule}"
            )),
        );
    }
    for api_version in ["v1", "apps/v1", "x-1.example.com/v1alpha1"] {
        assert_eq!(with(api_version), Ok(api_version.to_owned()));
    }
}

#[test]
fn what_the_api_server_writes_is_not_sent() {
    let read = read(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "creationTimestamp": null, "generation": 1,
                     "managedFields": [], "labels": null},
        "spec": {"template": {"metadata": {"creationTimestamp": null}}},
        "status": {"replicas": 1},
    }))
    .unwrap();
    assert_eq!(
        read.mapped("deployments", true).unwrap().body(),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "n"}, "spec": {"template": {"metadata": {}}}})
    );
}

#[test]
fn the_namespace_is_as_the_kind_needs_it() {
    let with = |namespace: Option<&str>| {
        read(json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "a", "namespace": namespace}})).unwrap()
    };
    assert_eq!(with(Some("n")).mapped("ks", true).unwrap().namespace, "n");
    let cluster_scoped = with(Some("n")).mapped("ks", false).unwrap();
    assert_eq!(cluster_scoped.namespace, "");
    assert_eq!(cluster_scoped.body()["metadata"], json!({"name": "a"}));
    assert_eq!(
        with(None).mapped("ks", true).unwrap_err().condition(),
        (
            "AppliedManifestFailed",
            "Failed to apply manifest: K \"a\" is namespaced and the manifest has no metadata.namespace: set it".to_owned()
        )
    );
}
