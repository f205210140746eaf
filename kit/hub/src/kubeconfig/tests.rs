use std::fs::write;

use tempfile::TempDir;

use super::*;
use crate::overrides::Overrides;

fn kubeconfig(folder: &TempDir, name: &str, server: &str) -> PathBuf {
    let path = folder.path().join(name);
    let text = format!(
        "{{apiVersion: v1, kind: Config, current-context: {name},\n\
         contexts: [{{name: {name}, context: {{cluster: {name}, user: {name}, namespace: ns-{name}}}}}],\n\
         clusters: [{{name: {name}, cluster: {{server: '{server}'}}}}],\n\
         users: [{{name: {name}, user: {{token: my-secret}}}}]}}"
    );
    write(&path, text).unwrap();
    path
}

fn server(access: &Access, environment: &Environment) -> String {
    load(access, environment).map_or_else(
        |error| error.to_string(),
        |loaded| loaded.config.cluster_url.to_string(),
    )
}

#[test]
fn the_cluster_of_the_context_has_a_name_unless_a_flag_names_another_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = kubeconfig(&folder, "a", "https://a:1");
    let named = |access: &Access| cluster_named(access, &Environment::default());
    let mut access = Access::of_command(Some(path));
    assert_eq!(named(&access).as_deref(), Some("a"));
    access.context = Some("b".to_owned());
    assert_eq!(named(&access), None);
    access.context = None;
    access.overrides.server = Some("https://b:2".to_owned());
    assert_eq!(named(&access), None);
}

/// The same in kubectl: `kubectl options`.
#[test]
fn flags_win_over_the_context() {
    let folder = tempfile::tempdir().unwrap();
    let path = kubeconfig(&folder, "a", "https://a:1");
    let with = |overrides: Overrides| {
        let access = Access {
            overrides,
            ..Access::of_command(Some(path.clone()))
        };
        load(&access, &Environment::default()).map(|it| it.config)
    };
    let token = |config: &Config| crate::values::secret(&config.auth_info, "token");
    let plain = with(Overrides::default()).unwrap();
    assert_eq!(token(&plain).as_deref(), Some("my-secret"));
    let other = with(Overrides {
        server: Some("https://b:2".to_owned()),
        token: Some("other".to_owned()),
        tls_server_name: Some("c".to_owned()),
        insecure_skip_tls_verify: true,
        ..Overrides::default()
    })
    .unwrap();
    assert_eq!(other.cluster_url, "https://b:2/");
    assert_eq!(token(&other).as_deref(), Some("other"));
    assert_eq!(other.tls_server_name.as_deref(), Some("c"));
    assert!(other.accept_invalid_certs && other.root_cert.is_none());
    assert_eq!(other.default_namespace, "ns-a");
    // Credentials replace those of the file.
    let certificate = with(Overrides {
        client_certificate: Some("/nowhere/crt".into()),
        client_key: Some("/nowhere/key".into()),
        ..Overrides::default()
    })
    .unwrap();
    assert_eq!(token(&certificate), None);
    assert_eq!(
        certificate.auth_info.client_key.as_deref(),
        Some("/nowhere/key")
    );
    let missing = with(Overrides {
        user: Some("nobody".to_owned()),
        ..Overrides::default()
    });
    let missing = missing.unwrap_err().to_string();
    assert!(
        missing.ends_with("it has no user \"nobody\" (--user)"),
        "{missing}"
    );
    let nowhere = with(Overrides {
        certificate_authority: Some("/nowhere/ca.crt".into()),
        ..Overrides::default()
    });
    let nowhere = nowhere.unwrap_err().to_string();
    assert!(nowhere.contains("certificate-authority: "), "{nowhere}");
}

#[test]
fn a_server_and_a_token_need_no_kubeconfig() {
    let access = Access {
        overrides: Overrides {
            server: Some("https://b:2".to_owned()),
            token: Some("t".to_owned()),
            ..Overrides::default()
        },
        ..Access::of_command(None)
    };
    assert_eq!(server(&access, &Environment::default()), "https://b:2/");
    assert!(!format!("{access:?}").contains("\"t\""));
    let bad = Access {
        overrides: Overrides {
            server: Some("b".to_owned()),
            ..Overrides::default()
        },
        ..Access::of_command(None)
    };
    let error = server(&bad, &Environment::default());
    assert!(error.starts_with("--server: server: "), "{error}");
}

#[test]
fn anonymous_connections_have_the_server_and_no_credentials() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    let text = r#"
        apiVersion: v1
        kind: Config
        current-context: a
        contexts: [{name: a, context: {cluster: a, user: a}}]
        clusters: [{name: a, cluster: {server: "https://a:1"}}]
        users: [{name: a, user: {token: t, tokenFile: /nowhere, exec: {command: false, apiVersion: client.authentication.k8s.io/v1}}}]
    "#;
    std::fs::write(&path, text).unwrap();
    let access = Access {
        anonymous: true,
        ..Access::of_server(Some(path))
    };
    let config = load(&access, &Environment::default()).unwrap().config;
    assert_eq!(config.cluster_url, "https://a:1/");
    let auth = config.auth_info;
    assert!(auth.token.is_none() && auth.token_file.is_none() && auth.exec.is_none());
}

#[test]
fn the_flag_comes_before_the_variable_and_home_is_for_commands() {
    let folder = tempfile::tempdir().unwrap();
    let [flag, first, second] = ["flag", "first", "second"]
        .map(|name| kubeconfig(&folder, name, &format!("https://{name}:1")));
    std::fs::create_dir(folder.path().join(".kube")).unwrap();
    std::fs::copy(
        kubeconfig(&folder, "home", "https://home:1"),
        folder.path().join(".kube/config"),
    )
    .unwrap();
    let home = Environment {
        kubeconfig: None,
        home: Some(folder.path().to_owned()),
    };
    let listed = [&PathBuf::from("/nowhere/at/all"), &first, &second];
    let both = Environment {
        kubeconfig: Some(env::join_paths(listed).unwrap()),
        ..home.clone()
    };
    let (as_server, command) = (Access::of_server(None), Access::of_command(None));
    let named = Access::of_command(Some(flag));
    assert_eq!(server(&named, &both), "https://flag:1/");
    assert_eq!(server(&as_server, &both), "https://first:1/");
    assert_eq!(server(&command, &both), "https://first:1/");
    assert_eq!(server(&command, &home), "https://home:1/");
    assert_eq!(
        server(&as_server, &home),
        "this does not run in a cluster: name the hub by --kubeconfig FILE or in $KUBECONFIG"
    );

    let other = Access {
        context: Some("second".to_owned()),
        ..command.clone()
    };
    let loaded = load(&other, &both).unwrap();
    assert_eq!(loaded.config.default_namespace, "ns-second");
    assert_eq!(loaded.files, [first, second]);
    let missing = Access {
        context: Some("third".to_owned()),
        ..command
    };
    let Err(ConnectError::NoContext { context, contexts }) = load(&missing, &both) else {
        panic!("a context that does not exist");
    };
    assert_eq!((context.as_str(), contexts.len()), ("third", 2));
}

#[test]
fn no_error_shows_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let path = kubeconfig(&folder, "one", "https://me:my-secret@one:1");
    for broken in [
        std::fs::read_to_string(&path)
            .unwrap()
            .replace("}}]}", "}}]"),
        std::fs::read_to_string(&path)
            .unwrap()
            .replace("token: my-secret", "token: [my-secret]"),
        std::fs::read_to_string(&path)
            .unwrap()
            .replace("https://", "ht tp://"),
    ] {
        write(&path, &broken).unwrap();
        let words = server(
            &Access::of_command(Some(path.clone())),
            &Environment::default(),
        );
        assert!(words.contains("--kubeconfig"), "{broken}: {words}");
        assert!(!words.contains("my-secret"), "{words}");
    }
}

#[test]
fn impersonation_is_of_whom_the_flags_name() {
    let folder = tempfile::tempdir().unwrap();
    let access = Access {
        act_as: Some(crate::ActAs {
            user: "dev".to_owned(),
            groups: vec!["g".to_owned()],
            uid: Some("u".to_owned()),
        }),
        ..Access::of_command(Some(kubeconfig(&folder, "one", "https://one:1")))
    };
    let auth = load(&access, &Environment::default())
        .unwrap()
        .config
        .auth_info;
    assert_eq!(auth.impersonate.as_deref(), Some("dev"));
    assert_eq!(auth.impersonate_groups, Some(vec!["g".to_owned()]));
}

#[test]
fn a_server_address_is_the_url_with_its_path_and_who_verifies_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = kubeconfig(
        &folder,
        "one",
        "https://me:my-secret@one:1/k8s/clusters/c1/",
    );
    let text = std::fs::read_to_string(&path).unwrap();
    let at = |cluster: &str| {
        let server = "c1/'";
        write(&path, text.replace(server, &format!("{server}, {cluster}"))).unwrap();
        server_address(&Access::of_command(Some(path.clone()))).unwrap()
    };
    let found = at("");
    assert_eq!(found.url, "https://one:1/k8s/clusters/c1");
    assert_eq!(found.authorities, Authorities::System);
    let found = at("insecure-skip-tls-verify: true, proxy-url: 'http://proxy:3128'");
    assert_eq!(found.authorities, Authorities::Unverified);
    assert_eq!(found.proxy.as_deref(), Some("http://proxy:3128/"));
    // "-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n"
    let found = at("certificate-authority-data: \
                    LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFRSUQKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=");
    assert_eq!(found.authorities, Authorities::Of(vec![vec![1, 2, 3]]));
}

#[test]
fn a_kubeconfig_in_memory_is_read_like_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(kubeconfig(&folder, "one", "https://one:1")).unwrap();
    let config = parse(&text, "the bootstrap kubeconfig").unwrap();
    assert_eq!(config.cluster_url, "https://one:1/");
    for broken in [
        text.replace("}}]}", "}}]"),
        text.replace("current-context: one,", ""),
    ] {
        let words = parse(&broken, "the bootstrap kubeconfig")
            .unwrap_err()
            .to_string();
        assert!(words.starts_with("the bootstrap kubeconfig: "), "{words}");
        assert!(!words.contains("my-secret"), "{words}");
    }
}

#[test]
fn a_current_context_that_is_empty_is_that_of_the_next_file() {
    let folder = tempfile::tempdir().unwrap();
    let next = kubeconfig(&folder, "next", "https://next:1");
    let access = Access::of_command(None);
    for before in [
        "{current-context: ''}",
        "{current-context: '', clusters: null, contexts: null, users: null, preferences: {}}",
        "{current-context: null}",
        "{}",
        "",
    ] {
        let path = folder.path().join("before");
        write(&path, before).unwrap();
        let both = Environment {
            kubeconfig: Some(env::join_paths([&path, &next]).unwrap()),
            home: None,
        };
        assert_eq!(server(&access, &both), "https://next:1/", "{before}");
    }
}
