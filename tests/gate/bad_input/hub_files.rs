//! Hub files that cannot be read: the message names file, document and field, and the server does not start.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use berth_testkit::{berth, repository};

const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n";

/// What the command says about hub files, and its exit code.
fn said(path: &Path) -> (i32, String) {
    let review = repository("tests/data/reviews/update-unrelated-bob.validate.json");
    let output = berth(&["review", "-f", review.to_str().unwrap(), "--hub-files"])
        .arg(path)
        .output()
        .unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn a_fault_is_told_by_file_document_and_field() {
    let cluster = |rest: &str| {
        format!(
            "{NAMESPACE}---\napiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n{rest}"
        )
    };
    let rbac = |kind: &str, rest: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata: {{name: a}}\n{rest}\n"
        )
    };
    let bomb = {
        let level = |(name, of): (char, char)| {
            format!(
                "{name}: &{name} [{}]\n",
                vec![format!("*{of}"); 9].join(",")
            )
        };
        let levels: String = ('b'..='i').zip('a'..).map(level).collect();
        format!("a: &a [x,x,x,x,x,x,x,x,x]\n{levels}")
    };
    for (sentence, content, document, problem) in [
        ("broken syntax", format!("{NAMESPACE}---\nkind: [Namespace\n"), 2, "not YAML: unclosed bracket '[' at line 5, column 7"),
        ("a tab", "kind: Namespace\nmetadata:\n\tname: a\n".to_owned(), 1, "not YAML: tabs disallowed"),
        ("a key twice", "kind: Namespace\nkind: Namespace\n".to_owned(), 1, "not YAML: duplicate mapping key: kind at line 2, column 1\n"),
        ("no kind", "apiVersion: v1\nmetadata: {name: a}\n".to_owned(), 1, "apiVersion and kind: a Kubernetes object needs both, as strings"),
        ("no object", "hello\n".to_owned(), 1, "apiVersion and kind: a Kubernetes object needs both, as strings"),
        ("no name", cluster("metadata: {}\n"), 2, "metadata.name: a ManagedCluster needs one, as a string"),
        ("a number for a name", cluster("metadata: {name: 5}\n"), 2, "metadata.name: a ManagedCluster needs one, as a string"),
        (
            "a field of a wrong type",
            cluster("metadata: {name: c1}\nspec: {hubAcceptsClient: 'yes'}\n"),
            2,
            "spec.hubAcceptsClient: invalid type: string \"yes\", expected a boolean (ManagedCluster c1)",
        ),
        (
            "a field of a wrong type, in a list in a list",
            "kind: List\napiVersion: v1\nitems:\n- kind: ManagedClusterList\n  apiVersion: cluster.open-cluster-management.io/v1\n  \
             items: [{metadata: {name: c1}}, {metadata: {name: c2}, spec: {taints: [{key: 5}]}}]\n"
                .to_owned(),
            1,
            "items[0].items[1].spec.taints[0].key: invalid type: integer `5`, expected a string (ManagedCluster c2)",
        ),
        ("a list of no list", "kind: List\napiVersion: v1\nitems: {a: b}\n".to_owned(), 1, "items: a List needs a sequence of objects"),
        (
            "the same object twice",
            format!("{NAMESPACE}---\n{NAMESPACE}"),
            2,
            "Namespace a was read before, in FILE, document 1: keep one of them",
        ),
        (
            "an unknown version of a known kind",
            "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: ManagedCluster\nmetadata: {name: c1}\n".to_owned(),
            1,
            "apiVersion: \"cluster.open-cluster-management.io/v1alpha1\" is not known for the kind ManagedCluster",
        ),
        (
            "a binding without a namespace",
            "apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSetBinding\nmetadata: {name: a}\n".to_owned(),
            1,
            "metadata.namespace: a ManagedClusterSetBinding needs one",
        ),
        (
            "a rule that no hub would store",
            rbac("ClusterRole", "rules: [{apiGroups: [''], resources: [pods]}]"),
            1,
            "ClusterRole \"a\": rules[0].verbs: a rule needs at least one verb",
        ),
        (
            "a subject that no hub would store",
            rbac("ClusterRoleBinding", "roleRef: {kind: ClusterRole, name: x}\nsubjects: [{kind: Person, name: a}]"),
            1,
            "ClusterRoleBinding \"a\": ",
        ),
        ("an alias bomb", bomb, 1, "not YAML: budget breached"),
        ("an alias of nothing", "kind: *kind\n".to_owned(), 1, "not YAML: alias references unknown anchor"),
        ("deep nesting", "[".repeat(100_000), 1, "not YAML: recursion limit exceeded"),
    ] {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("hub.yaml");
        fs::write(&file, content).unwrap();
        let (code, message) = said(folder.path());
        assert_eq!(code, 2, "{sentence}: {message}");
        let file = file.to_str().unwrap();
        let expected = format!("Error: {file}, document {document}: {}", problem.replace("FILE", file));
        assert!(message.starts_with(&expected), "{sentence}: {message}");
        assert_eq!(message.lines().count(), 1, "{sentence}: {message}");
    }
}

#[test]
fn what_cannot_be_read_at_all_is_named_once() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::write(folder.path().join("empty/notes.txt"), "x").unwrap();
    fs::write(folder.path().join("bytes.yaml"), b"kind: \xff").unwrap();
    for (path, message) in [
        (
            "missing.yaml",
            "PATH cannot be read: name a YAML or JSON file, or a folder of such files: No such file or directory (os error 2)",
        ),
        (
            "bytes.yaml",
            "PATH cannot be read: name a YAML or JSON file, or a folder of such files: stream did not contain valid UTF-8",
        ),
        (
            "empty",
            "PATH: the folder holds no .yaml, .yml or .json file",
        ),
    ] {
        let path = folder.path().join(path);
        let (code, said) = said(&path);
        assert_eq!(code, 2);
        assert_eq!(
            said,
            format!(
                "Error: {}\n",
                message.replace("PATH", path.to_str().unwrap())
            )
        );
    }
}

#[test]
fn nothing_behind_a_colon_is_nothing() {
    let folder = TempDir::new().unwrap();
    let group = "apiVersion: cluster.open-cluster-management.io";
    let objects = [
        format!(
            "{group}/v1\nkind: ManagedCluster\nmetadata: {{name: c1, labels: }}\nspec:\nstatus:\n"
        ),
        format!("{group}/v1beta2\nkind: ManagedClusterSet\nmetadata: {{name: set-a}}\nspec:\n"),
        format!(
            "{group}/v1beta2\nkind: ManagedClusterSetBinding\nmetadata: {{name: set-a, namespace: a}}\nspec:\n"
        ),
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\nstatus:\n".to_owned(),
        "apiVersion: v1\nkind: List\nitems:\n".to_owned(),
        "# nothing at all\n".to_owned(),
    ];
    fs::write(folder.path().join("hub.yaml"), objects.join("---\n")).unwrap();
    assert_eq!(said(folder.path()), (0, String::new()));
}

/// `kubectl get managedclusters -o yaml` of a large hub, and the same as documents.
#[test]
fn the_dump_of_a_large_hub_is_read() {
    let folder = TempDir::new().unwrap();
    let cluster = |i: usize, indent: &str, fields: usize| {
        let managed: String = (0..fields)
            .map(|field| format!("f:{field}: {{}}, "))
            .collect();
        format!(
            "{indent}apiVersion: cluster.open-cluster-management.io/v1\n{indent}kind: ManagedCluster\n{indent}metadata: \
             {{name: c{i}, managedFields: [{{fieldsV1: {{{managed}}}}}]}}\n"
        )
    };
    let items: String = (0..1300)
        .map(|i| cluster(i, "  ", 100).replacen("  ", "- ", 1))
        .collect();
    fs::write(
        folder.path().join("list.yaml"),
        format!("apiVersion: v1\nkind: List\nitems:\n{items}"),
    )
    .unwrap();
    let documents: Vec<_> = (1300..2400).map(|i| cluster(i, "", 0)).collect();
    fs::write(
        folder.path().join("documents.yaml"),
        documents.join("---\n"),
    )
    .unwrap();
    assert_eq!(said(folder.path()), (0, String::new()));
}
