#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn client() -> Client {
    Client {
        issuer: "https://login.example.com".to_owned(),
        id: "berth".to_owned(),
        scopes: vec!["email".to_owned(), "groups".to_owned()],
        redirect_uri: "https://console.example.com/oidc/callback".to_owned(),
    }
}

fn login() -> Login {
    Login::begin("/clusters?q=a").unwrap()
}

fn discovery(authorize: &str) -> Discovery {
    Discovery {
        issuer: client().issuer,
        authorization_endpoint: authorize.to_owned(),
        token_endpoint: "https://login.example.com/token".to_owned(),
        token_endpoint_auth_methods_supported: Vec::new(),
    }
}

fn token(claims: &serde_json::Value) -> String {
    let payload = BASE64_URL_SAFE_NO_PAD.encode(claims.to_string());
    format!("e30.{payload}.c2ln")
}

#[test]
fn the_provider_gets_the_request_of_the_code_flow_with_pkce() {
    let login = login();
    for (endpoint, begins) in [
        (
            "https://a/authorize",
            "https://a/authorize?response_type=code&",
        ),
        ("https://a/x?p=1", "https://a/x?p=1&response_type=code&"),
    ] {
        let url = client().authorize_url(&discovery(endpoint), &login);
        assert!(url.starts_with(begins), "{url}");
        let query = url.split_once('?').unwrap().1;
        let pairs: std::collections::HashMap<_, _> =
            form_urlencoded::parse(query.as_bytes()).collect();
        assert_eq!(pairs["client_id"], "berth");
        assert_eq!(pairs["scope"], "openid email groups");
        assert_eq!(
            pairs["redirect_uri"],
            "https://console.example.com/oidc/callback"
        );
        assert_eq!(pairs["code_challenge_method"], "S256");
        assert_eq!(pairs["state"], login.state.reveal());
        assert_eq!(pairs["nonce"], login.nonce.reveal());
        // The verifier itself stays here.
        assert!(!url.contains(login.verifier.reveal()));
    }
}

#[test]
fn the_challenge_is_that_of_the_rfc() {
    // RFC 7636, appendix B.
    let login = Login {
        verifier: Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
        ..login()
    };
    assert_eq!(
        login.challenge(),
        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    );
}

#[test]
fn only_the_answer_to_this_sign_in_is_believed() {
    let (client, login) = (client(), login());
    let good = serde_json::json!({
        "iss": client.issuer, "aud": "berth", "sub": "ada", "exp": 1_900_000_000,
        "nonce": login.nonce.reveal(),
    });
    let with = |name: &str, value: serde_json::Value| {
        let mut claims = good.clone();
        claims[name] = value;
        claims
    };
    for (claims, expected) in [
        (good.clone(), Ok(())),
        (with("aud", serde_json::json!(["other", "berth"])), Ok(())),
        (with("exp", serde_json::json!(1_900_000_000.5)), Ok(())),
        (
            with("iss", serde_json::json!("https://login.example.com/")),
            Err("the ID token is of another issuer"),
        ),
        (
            with("aud", serde_json::json!("other")),
            Err("the ID token is for another client"),
        ),
        (
            with("nonce", serde_json::json!("stolen")),
            Err("the ID token is not the answer to this sign-in: its nonce is another one"),
        ),
        (
            with("nonce", serde_json::Value::Null),
            Err("the ID token is not the answer to this sign-in: its nonce is another one"),
        ),
    ] {
        let read = Claims::of(&token(&claims)).unwrap();
        assert_eq!(client.believe(&read, &login), expected, "{claims}");
    }
    let read = Claims::of(&token(&with("nonce", serde_json::Value::Null))).unwrap();
    assert_eq!(client.believe_again(&read, "ada"), Ok(()));
    assert_eq!(
        client.believe_again(&read, "bob"),
        Err("the refreshed ID token is of another user")
    );
    assert_eq!(read.until().unwrap().as_second(), 1_900_000_000);
    for malformed in ["", "a.b", "a.!.c", "e30.e30.c2ln"] {
        assert_eq!(Claims::of(malformed), None, "{malformed}");
    }
}

#[test]
fn a_provider_has_to_be_the_issuer_and_to_use_tls() {
    let issuer = client().issuer;
    let good = discovery("https://login.example.com/authorize");
    assert_eq!(good.check(&issuer), Ok(()));
    let other = good.check("https://other.example.com").unwrap_err();
    assert!(other.contains("--oidc-issuer-url"), "{other}");
    for endpoint in [
        "http://login.example.com/a",
        "javascript:alert(1)",
        "https://a\r\nb",
    ] {
        assert!(discovery(endpoint).check(&issuer).is_err(), "{endpoint}");
    }
    for (methods, expected) in [
        (&[][..], ClientAuth::Basic),
        (
            &["client_secret_post", "client_secret_basic"],
            ClientAuth::Basic,
        ),
        (&["client_secret_post"], ClientAuth::Post),
        (&["private_key_jwt"], ClientAuth::Basic),
    ] {
        let mut discovery = good.clone();
        discovery.token_endpoint_auth_methods_supported =
            methods.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(discovery.client_auth(), expected, "{methods:?}");
    }
}

#[test]
fn a_sign_in_leads_to_a_page_of_ours() {
    for (to, expected) in [
        ("/", "/"),
        ("/clusters?q=set:prod", "/clusters?q=set:prod"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("", "/"),
        ("/a\r\nSet-Cookie: a=b", "/"),
        ("/a b", "/"),
        ("/\u{e9}", "/"),
    ] {
        assert_eq!(own_path(to), expected, "{to:?}");
    }
    let long = format!("/{}", "a".repeat(LONGEST_PATH));
    assert_eq!(own_path(&long), "/");
}

proptest! {
    #[test]
    fn a_sign_in_is_read_from_its_cookie(to in "/[a-z?=&%]{0,40}") {
        let login = Login::begin(&to).unwrap();
        let cookie = login.to_cookie();
        prop_assert!(cookie.bytes().all(|it| it.is_ascii_graphic() && it != b';' && it != b','));
        prop_assert_eq!(Login::of_cookie(&cookie), Some(login));
    }

    #[test]
    fn no_cookie_and_no_token_panics(text in "\\PC{0,80}") {
        let _ = Login::of_cookie(&text);
        let _ = Claims::of(&text);
        let _ = end_of(&text);
    }
}
