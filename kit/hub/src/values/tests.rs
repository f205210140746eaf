use std::fs::write;

use rustls::crypto::ring::default_provider;

use crate::{Access, Call, HubApi};

/// Fields of a cluster, fields of a user, and what is right. As kubectl, unless the row says otherwise.
pub(crate) const ROWS: &[(&str, &str, Result<(), &str>)] = &[
    ("server: 'http://127.0.0.1:1'", "", Ok(())),
    ("server: 'HTTP://127.0.0.1:1/'", "", Ok(())),
    ("server: 'http://127.0.0.1:1/k8s/clusters/c-1/'", "", Ok(())),
    ("server: 'http://[::1]:1'", "", Ok(())),
    (
        "server: 'http://127.0.0.1:1', certificate-authority: '', certificate-authority-data: ''",
        "",
        Ok(()),
    ),
    (
        "server: 'http://127.0.0.1:1', proxy-url: '', tls-server-name: ''",
        "",
        Ok(()),
    ),
    // kubectl guesses the scheme: plain HTTP if the cluster has no CA, and the token goes in clear.
    (
        "server: '127.0.0.1:6443'",
        "",
        Err(r#"server: "127.0.0.1:6443" has no scheme: write https://127.0.0.1:6443"#),
    ),
    (
        "server: 'me:secret@h:1'",
        "",
        Err(r#"server: "h:1" has no scheme"#),
    ),
    ("server: localhost", "", Err("has no scheme")),
    (
        "server: /api",
        "",
        Err("server: no URL: write one with scheme and host"),
    ),
    ("server: '*'", "", Err("server: no URL")),
    ("server: ' '", "", Err("server: ")),
    ("server: ''", "", Err("server: cluster url is missing")),
    ("server:", "", Err("server: cluster url is missing")),
    ("server: \"https://h\\n\"", "", Err("server: ")),
    (
        "server: 'ftp://h'",
        "",
        Err(r#"server: scheme "ftp" is not supported"#),
    ),
    ("server: 'https://:6443'", "", Err("server: ")),
    ("server: 'https://me@'", "", Err("server: ")),
    (
        "server: 'https://h:99999'",
        "",
        Err(r#"server: port "99999" is not a number up to 65535"#),
    ),
    ("server: 'https://h:x'", "", Err("server: ")),
    (
        "server: 'https://h', proxy-url: ':'",
        "",
        Err("proxy-url, or else HTTPS_PROXY: "),
    ),
    (
        "server: 'https://h', proxy-url: 'proxy:3128'",
        "",
        Err("proxy-url, or else HTTPS_PROXY: a proxy of scheme none is not supported"),
    ),
    (
        "server: 'https://h', proxy-url: 'http://p:70000'",
        "",
        Err("proxy-url, or else HTTPS_PROXY: port"),
    ),
    (
        "server: 'https://h', tls-server-name: 'a b'",
        "",
        Err(r#"tls-server-name: "a b" is not a host name"#),
    ),
    (
        "server: 'https://h', tls-server-name: \"h\\n\"",
        "",
        Err("tls-server-name: "),
    ),
    (
        "server: 'https://h', certificate-authority-data: '*'",
        "",
        Err("certificate-authority: "),
    ),
    (
        "server: 'https://h', certificate-authority-data: aGVsbG8=",
        "",
        Err("certificate-authority holds no certificate"),
    ),
    // "-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n", in two lines as YAML's `|` keeps them.
    (
        "server: 'https://h', certificate-authority-data: \"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFR\\nSUQKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=\\n\"",
        "",
        Err("certificate-authority: none of its certificates can be read"),
    ),
    (
        "server: 'https://h', certificate-authority: nowhere.crt",
        "",
        Err("certificate-authority: "),
    ),
    (LOCAL, "token: ''", Ok(())),
    (LOCAL, "token: abc", Ok(())),
    (
        LOCAL,
        "token: \"abc\\n\"",
        Err("token: its value has a line end"),
    ),
    (
        LOCAL,
        "token: \"a\\0b\"",
        Err("token: its value has a line end or another control character"),
    ),
    (LOCAL, "token: \"a\\x7fb\"", Err("token: its value")),
    (LOCAL, "tokenFile: good", Ok(())),
    (LOCAL, "tokenFile: ''", Ok(())),
    (
        LOCAL,
        "tokenFile: two",
        Err("two: its value has a line end"),
    ),
    (LOCAL, "tokenFile: empty", Err("empty: it is empty")),
    (LOCAL, "tokenFile: nowhere", Err("nowhere: No such file")),
    (LOCAL, "token: abc, tokenFile: nowhere", Ok(())),
    (LOCAL, "username: \"a\\nb\", password: \"c\\n\"", Ok(())),
    (LOCAL, "as: ''", Ok(())),
    (LOCAL, "as: \"a\\n\"", Err("as: its value")),
    (LOCAL, "as: a, as-uid: \"a\\n\"", Err("as-uid: ")),
    (LOCAL, "as: a, as-groups: [g, \"h\\n\"]", Err("as-groups: ")),
    (
        LOCAL,
        "as: a, as-user-extra: {k: [\"h\\r\"]}",
        Err("as-user-extra: "),
    ),
    (LOCAL, "as: a, as-user-extra: {\"k \\n/\": [h]}", Ok(())),
    (
        LOCAL,
        "auth-provider: {name: oidc, config: {id-token: \"a\\n\"}}",
        Err("auth-provider.config.id-token: "),
    ),
    (
        LOCAL,
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: [plugin], interactiveMode: Never}",
        Err("exec plugin or auth provider has a line end"),
    ),
    (
        LOCAL,
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: \"\\0\", interactiveMode: Never}",
        Err("exec plugin cannot be started"),
    ),
    (LOCAL, "client-certificate: '', client-key: ''", Ok(())),
    (
        LOCAL,
        "client-certificate: nowhere, client-key: nowhere",
        Err("client-certificate: "),
    ),
    (
        LOCAL,
        "client-certificate-data: '*', client-key-data: '*'",
        Err("client-certificate-data: it is not base64"),
    ),
    (
        LOCAL,
        "client-certificate: good",
        Err("client-key: missing"),
    ),
];

/// Nothing is sent in the clear: see the rows of `kubeconfig/kubectl/rows.txt`.
const LOCAL: &str = "server: 'https://127.0.0.1:1', insecure-skip-tls-verify: true";

#[tokio::test]
async fn no_value_of_a_kubeconfig_panics_and_each_error_names_file_and_field() {
    let _ = default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let plugin = r#"printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"a\\n"}}'"#;
    for (name, content) in [
        ("good", "abc\n"),
        ("two", "a\nb"),
        ("empty", " \n"),
        ("plugin", plugin),
    ] {
        write(at(name), content).unwrap();
    }
    for &(cluster, user, expected) in ROWS {
        let path = at("kubeconfig");
        let user = user.replace("[plugin]", &format!("[{}]", at("plugin").display()));
        let text = format!(
            "{{current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
             clusters: [{{name: c, cluster: {{{cluster}}}}}], users: [{{name: u, user: {{{user}}}}}]}}"
        );
        write(&path, text).unwrap();
        let row = format!("{cluster}; {user}");
        let connected = HubApi::connect(&Access::of_command(Some(path.clone()))).await;
        match (connected, expected) {
            (Ok(hub), Ok(())) => {
                let error = hub
                    .call(Call::get("/version"))
                    .await
                    .unwrap_err()
                    .to_string();
                assert!(error.contains("cannot be reached"), "{row}: {error}");
            }
            (Err(error), Err(words)) => {
                let error = error.to_string();
                let file = format!("--kubeconfig {}: ", path.display());
                assert!(error.starts_with(&file), "{row}: {error}");
                assert!(error.contains(words), "{row}: {error}");
                assert!(
                    !error.contains("secret") && !error.contains("abc"),
                    "{error}"
                );
            }
            (connected, _) => panic!("{row}: {connected:?}, not {expected:?}"),
        }
    }
}
