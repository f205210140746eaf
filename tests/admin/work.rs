//! `berth create work`, `berth get works`, `berth work render`: on files, and on a hub without agents.

use std::fs;

use berth_manifests::files;
use berth_testkit::berth;
use berth_testkit::cluster::{Cluster, finish, fresh};
use berth_testkit::transcript::words;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::OnceCell;

use crate::house::House;

const OBJECTS: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: web}
data: {a: b}
---
apiVersion: v1
kind: Namespace
metadata: {name: web}
"#;

/// Installs the kinds of works, once for all tests.
async fn kinds(house: &House<&'static Cluster>) {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    let crds = files::WORK_CRDS.map(|file| file.path);
    let install = || house.cluster.apply_manifests(&crds);
    INSTALLED.get_or_init(install).await;
}

/// A folder with `web.yaml`.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("web.yaml"), OBJECTS).unwrap();
    folder
}

/// Runs `berth` without a hub, with the path of the folder in place of `FOLDER`.
async fn offline(folder: &TempDir, line: &str) -> (i32, String, String) {
    piped(folder, line, "").await
}

/// As [`offline`], with standard input.
async fn piped(folder: &TempDir, line: &str, stdin: &str) -> (i32, String, String) {
    let line = line.replace("FOLDER", folder.path().to_str().unwrap());
    let words = words(&line);
    let args: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = berth(&args);
    command.env("HOME", folder.path()).env_remove("KUBECONFIG");
    let output = finish(command, stdin).await;
    (output.code, output.stdout, output.stderr)
}

async fn namespace(house: &House<&'static Cluster>, name: &str) {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let created = house.admin.post("/api/v1/namespaces", &object).await;
    created.unwrap().ok();
}

#[tokio::test]
async fn a_work_is_printed_without_a_hub() {
    let folder = folder();
    let line = "create work web -f FOLDER/web.yaml --placement team-a/app --executor web/deployer \
                --dry-run=client -o json";
    let (code, said, _) = offline(&folder, line).await;
    assert_eq!(code, 0, "{said}");
    let object: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(object["kind"], "ManifestWorkReplicaSet");
    assert_eq!(
        object["metadata"],
        json!({"name": "web", "namespace": "team-a"})
    );
    assert_eq!(object["spec"]["placementRefs"], json!([{"name": "app"}]));
    let template = &object["spec"]["manifestWorkTemplate"];
    assert_eq!(template["workload"]["manifests"][0]["data"]["a"], "b");
    assert_eq!(
        template["executor"]["subject"]["serviceAccount"],
        json!({"namespace": "web", "name": "deployer"})
    );
    let line = "create work web -f FOLDER --clusters c1,c2 --dry-run=client";
    let (code, said, _) = offline(&folder, line).await;
    assert_eq!(code, 0, "{said}");
    assert_eq!(
        said,
        "ManifestWork web of cluster c1 would be created (dry run)\nManifestWork web of cluster c2 would be created (dry run)\n"
    );
}

#[tokio::test]
async fn objects_come_from_standard_input_as_kubectl_reads_them() {
    let folder = folder();
    let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"},"data":null}"#;
    let stream = format!("{object}\n{object}\n");
    let line = "create work web -f - --clusters c1 --dry-run=client -o json";
    let (code, work, _) = piped(&folder, line, &stream).await;
    assert_eq!(code, 0);
    let object: Value = serde_json::from_str(object).unwrap();
    let manifests = |work: &str| {
        let work: Value = serde_json::from_str(work).unwrap();
        work["spec"]["workload"]["manifests"].clone()
    };
    assert_eq!(manifests(&work), json!([object, object]));
    let (code, said, _) = piped(&folder, "work render -f - -o json", &work).await;
    assert_eq!(code, 0);
    let rendered: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(rendered["items"], json!([object, object]));
    let (code, _, why) = piped(&folder, line, "a: [").await;
    assert_eq!(code, 1);
    assert!(
        why.contains("standard input, document 1: not YAML"),
        "{why}"
    );
    let many = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "x".repeat(600_000)}});
    let (code, _, why) = piped(&folder, line, &many.to_string()).await;
    assert_eq!(code, 0, "a hub may have a higher limit");
    assert!(why.starts_with("Warning: the manifests have 600"), "{why}");
}

#[tokio::test]
async fn folders_are_read_as_kubectl_reads_them() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
    fs::create_dir_all(path("all/b/deep")).unwrap();
    for (file, name) in [
        ("all/c.yaml", "c"),
        ("all/a.yml", "a"),
        ("all/b/2.yaml", "b2"),
        ("all/b/deep/1.yaml", "deep"),
        ("all/b.yaml", "b"),
        ("all/readme.txt", "none"),
    ] {
        fs::write(path(file), map(name)).unwrap();
    }
    let json = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j"}});
    fs::write(path("all/b/j.json"), json.to_string()).unwrap();
    std::os::unix::fs::symlink(path("all"), path("all/b/loop")).unwrap();
    let names = |said: &str| {
        let work: Value = serde_json::from_str(said).unwrap();
        let manifests = work["spec"]["workload"]["manifests"]
            .as_array()
            .unwrap()
            .clone();
        let names = manifests
            .iter()
            .map(|it| it["metadata"]["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>().join(" ")
    };
    let line = "create work w -f FOLDER/all --clusters c1 --dry-run=client -o json";
    let (code, said, why) = offline(&folder, line).await;
    assert_eq!((code, names(&said).as_str()), (0, "a b c"), "{why}");
    let (code, said, why) = offline(&folder, &format!("{line} -R")).await;
    assert_eq!(
        (code, names(&said).as_str()),
        (0, "a b2 deep j b c"),
        "{why}"
    );
    fs::create_dir_all(path("none/within")).unwrap();
    let line = "create work w -R -f FOLDER/none --clusters c1 --dry-run=client";
    let (code, _, why) = offline(&folder, line).await;
    assert_eq!(code, 1);
    assert!(why.contains("none"), "{why}");
}

/// Serves HTTP/1.1 on localhost: each path has one response. Returns the address.
async fn web(pages: Vec<(&'static str, String)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            assert!(
                !request.to_lowercase().contains("authorization"),
                "{request}"
            );
            let path = request.split(' ').nth(1).unwrap_or_default();
            let page = pages.iter().find(|(of, _)| *of == path);
            let page = page.map_or(
                "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
                |it| &it.1,
            );
            let _ = stream.write_all(page.as_bytes()).await;
        }
    });
    address
}

#[tokio::test]
async fn addresses_are_read_as_kubectl_reads_them() {
    let folder = folder();
    let body = |text: &str| {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        )
    };
    let to = |place: &str| {
        format!("HTTP/1.1 302 Found\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n")
    };
    let web = web(vec![
        ("/web.yaml?ref=1", body(OBJECTS)),
        ("/moved", to("/web.yaml?ref=1")),
        ("/circle", to("/circle")),
        ("/page", body("<html><body>hello: [")),
    ])
    .await;
    for path in ["/web.yaml?ref=1", "/moved"] {
        let line = format!("create work web -f {web}{path} --clusters c1 --dry-run=client -o json");
        let (code, said, why) = offline(&folder, &line).await;
        assert_eq!(code, 0, "{why}");
        let work: Value = serde_json::from_str(&said).unwrap();
        let manifests = &work["spec"]["workload"]["manifests"];
        assert_eq!(manifests[0]["data"]["a"], "b", "{said}");
        assert_eq!(manifests[1]["kind"], "Namespace", "{said}");
    }
    for (path, words) in [
        (
            "/none",
            "/none: the server answers with HTTP 404".to_owned(),
        ),
        ("/circle", "/circle: more than 10 redirects".to_owned()),
        ("/page", format!("{web}/page, document 1: ")),
    ] {
        let line = format!("work render -f {web}{path}");
        let (code, _, why) = offline(&folder, &line).await;
        assert_eq!(code, 1, "{path}");
        assert!(why.contains(&words), "{why}");
    }
    let (code, _, why) = offline(&folder, "work render -f http://127.0.0.1:1/a").await;
    assert_eq!(code, 1);
    assert!(why.contains("the server cannot be reached"), "{why}");
}

#[tokio::test]
async fn one_work_is_shown_on_the_clusters_that_are_named() {
    let house = House::shared().await;
    kinds(&house).await;
    let folder = folder();
    let (one, two, other, name) = (
        fresh("member"),
        fresh("member"),
        fresh("member"),
        fresh("web"),
    );
    for cluster in [&one, &two, &other] {
        namespace(&house, cluster).await;
    }
    let file = folder.path().join("web.yaml");
    let line = format!(
        "create work {name} -f {} --clusters {one},{two}",
        file.display()
    );
    house.berth(&line).await.ok();
    let rows = |said: &str| {
        let rows = said
            .lines()
            .map(|line| line.split_whitespace().next().unwrap().to_owned());
        rows.collect::<std::collections::BTreeSet<_>>()
    };
    let both = [one.clone(), two.clone()].into();
    let line = format!("get works {name} --clusters --no-headers");
    assert_eq!(rows(house.berth(&line).await.ok()), both);
    let line = format!("get works {name} --clusters {one} --no-headers");
    assert_eq!(rows(house.berth(&line).await.ok()), [one.clone()].into());
    let output = house
        .berth(&format!(
            "get works {name} --clusters {one},{other} -o json"
        ))
        .await;
    assert_eq!(output.code, 1);
    let list: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "{output:?}");
    let words = format!("\"{name}\" not found in namespace {other}");
    assert!(output.stderr.contains(&words), "{output:?}");
    let output = house
        .berth(&format!("get works {name} --clusters {one} -w"))
        .await;
    assert!(
        output.code == 1 && output.stderr.contains("-n CLUSTER"),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_manifest_that_cannot_be_applied_is_refused_with_its_place() {
    let folder = folder();
    for (text, words) in [
        ("kind: ConfigMap", "bad.yaml, document 1: "),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a}",
            "generateName",
        ),
    ] {
        fs::write(folder.path().join("bad.yaml"), text).unwrap();
        let line = "create work web -f FOLDER/bad.yaml --clusters c1 --dry-run=client";
        let (code, _, why) = offline(&folder, line).await;
        assert_eq!(code, 1);
        assert!(why.contains(words), "{why}");
    }
    fs::write(folder.path().join("bad.yaml"), "").unwrap();
    let line = "create work web -f FOLDER/bad.yaml --clusters c1 --dry-run=client";
    let (_, _, why) = offline(&folder, line).await;
    assert_eq!(why, "Error: -f: the files hold no object\n");
    let name = "a".repeat(60);
    let line =
        format!("create work {name} -f FOLDER/web.yaml --placement team-a/app --dry-run=client");
    let (_, _, why) = offline(&folder, &line).await;
    assert!(why.contains("create it again with a shorter name"), "{why}");
}

#[tokio::test]
async fn a_file_is_rendered_without_a_hub() {
    let folder = folder();
    let line = "create work web -f FOLDER/web.yaml --clusters c1 --dry-run=client -o yaml";
    let (_, work, _) = offline(&folder, line).await;
    fs::write(folder.path().join("work.yaml"), work).unwrap();
    let (code, said, _) = offline(&folder, "work render -f FOLDER/work.yaml").await;
    assert_eq!(code, 0);
    let rows: Vec<Vec<_>> = (said.lines().skip(1))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        rows,
        [
            ["web", "Namespace/web", "Update", "deleted"],
            ["web", "ConfigMap/web/web", "Update", "deleted"],
        ]
    );
    let (code, said, _) = offline(&folder, "work render -f FOLDER/work.yaml -o json").await;
    assert_eq!(code, 0);
    let list: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(list["items"][0]["kind"], "Namespace");
    let (code, _, why) = offline(&folder, "work render -f FOLDER/web.yaml").await;
    assert_eq!(code, 1);
    assert!(why.contains("hold no ManifestWork"), "{why}");
}

#[tokio::test]
async fn works_are_created_shown_rendered_and_replaced_on_a_hub() {
    let house = House::shared().await;
    kinds(&house).await;
    let folder = folder();
    let (cluster, space, name) = (fresh("member"), fresh("team"), fresh("web"));
    namespace(&house, &cluster).await;
    namespace(&house, &space).await;
    house
        .stage()
        .with("c", &cluster)
        .with("n", &space)
        .with("w", &name)
        .with("f", folder.path().to_str().unwrap())
        .plays(
            "
$ berth get works -n {c}
No works found of cluster \"{c}\".
$ berth create work {w} -f {f}/web.yaml --clusters {c} --dry-run=server
ManifestWork {w} of cluster {c} is created (server dry run)
$ berth create work {w} -f {f}/web.yaml --clusters {c}
ManifestWork {w} of cluster {c} is created
$ berth create work {w} -f {f}/web.yaml --clusters {c}
Error: it already exists: --overwrite replaces its objects
? 1
$ berth create work {w} -f {f}/web.yaml --clusters {c} --overwrite
ManifestWork {w} of cluster {c} is replaced
$ berth get works -n {c} --no-headers
{w} [..]2[..]s
$ berth work render {w} -n {c} -o json
[..]
...
$ berth create work {w} -f {f}/web.yaml --placement {n}/app
ManifestWorkReplicaSet {w} in namespace {n} is created
$ berth create work {w} -f {f}/web.yaml --placement {n}/app --overwrite
ManifestWorkReplicaSet {w} in namespace {n} is replaced
$ berth work render none -n {n}
Error: neither a ManifestWork nor a ManifestWorkReplicaSet \"none\" exists in namespace {n}; list them: berth get works
? 1
",
        )
        .await;
    let rendered = house.berth(&format!("work render {name} -n {space}")).await;
    assert!(rendered.ok().contains("Namespace/web"), "{rendered:?}");
    // The preview is the result, and the placement is added: without "app", its works would be deleted.
    let file = folder.path().join("web.yaml");
    let preview = house
        .berth(&format!(
            "create work {name} -f {} --placement {space}/other --overwrite --dry-run=server -o json",
            file.display()
        ))
        .await;
    let preview: Value = serde_json::from_str(preview.ok()).unwrap();
    let placements = preview["spec"]["placementRefs"].as_array().unwrap();
    let placements: Vec<_> = placements.iter().map(|it| &it["name"]).collect();
    assert_eq!(placements, ["app", "other"]);
}

#[tokio::test]
async fn one_cluster_that_fails_does_not_stop_the_others() {
    let house = House::shared().await;
    kinds(&house).await;
    let folder = folder();
    let (cluster, name) = (fresh("member"), fresh("web"));
    namespace(&house, &cluster).await;
    let line = format!(
        "create work {name} -f {}/web.yaml --clusters no-such-cluster,{cluster}",
        folder.path().display()
    );
    let output = house.berth(&line).await;
    assert_eq!(output.code, 1);
    assert_eq!(
        output.stdout,
        format!("ManifestWork {name} of cluster {cluster} is created\n")
    );
    let words = format!("ManifestWork {name} of cluster no-such-cluster: ");
    assert!(output.stderr.contains(&words), "{output:?}");
}
