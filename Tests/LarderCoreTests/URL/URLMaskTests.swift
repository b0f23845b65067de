import Testing

@testable import LarderCore

@Suite struct URLMaskTests {
    @Test(arguments: [
        "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "AWSAccessKeyId",
        "Signature",
        "X-Goog-Signature", "Key-Pair-Id", "Policy", "sig", "token", "access_token", "accessToken",
        "api_key", "apikey", "key", "auth_key", "client_secret", "PASSWORD", "hdnts", "session[id]",
        "passwd", "hmac", "authorization", "sign", "auth", "oauth", "pwd", "pass", "jwt", "hdnea",
        "passphrase", "bearer", "authKey", "subscriptionKey", "apiSig", "userPass", "s%69g",
        "jwt%5B%5D", "PHPSESSID", "sessid",
    ])
    func queryValuesWithTheNameOfASecretAreMasked(_ name: String) throws {
        let url = "https://h/a.png?size=64&\(name)=sEcReT=1;v=2"
        #expect(url.maskingSecretsInQuery == "https://h/a.png?size=64&\(name)=***;v=2")
        let shown = try HTTPURL("https://me:pw@h/a?\(name)=sEcReT").description
        #expect(shown.hasPrefix("https://***@h/a?") && !shown.contains("sEcReT"), "\(shown)")
    }

    @Test(arguments: [
        ("?t=eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.&a=1", "?t=***&a=1"),
        ("?v=eyJhbGci.1.2", "?v=eyJhbGci.1.2"),
        ("?eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln", "?***"),
        ("?a=1&eyJhbGciOiJub25lIn0%2EeyJzdWIiOiIxIn0.c2ln;b", "?a=1&***;b"),
        ("?u=https%3A%2F%2Fh%2F%3FeyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln", "?u=***"),
        ("?x=Bearer%20sEcReT&a=1", "?x=***&a=1"), ("?x=bearer+sEcReT", "?x=***"),
        ("?x=Basic%2520bWU6cHc", "?x=***"), ("?BASIC%20bWU6cHc&w=1", "?***&w=1"),
        ("?x=Basic", "?x=Basic"), ("?x=basic-icons%20a", "?x=basic-icons%20a"),
        ("?bearer", "?bearer"), ("?x=%20", "?x=%20"), ("?eyJhbGci.1.2", "?eyJhbGci.1.2"),
        ("?__gda__=exp=1~hmac=sEcReT&a=1", "?__gda__=***&a=1"),
        ("?u=https://me:sEcReT@h/&a=1", "?u=***&a=1"), ("?u=https%3A%2F%2Fme%40h", "?u=***"),
        ("?u=https://h/", "?u=https://h/"), ("?a=%4", "?a=%4"), ("?%6", "?%6"),
        ("?u=https%3A%2F%2Fh%2F%3Fa%3D1%26token%3DsEcReT", "?u=***"),
        ("?u=https%3A%2F%2Fh%2F%23access_token%3DsEcReT&a=1", "?u=***&a=1"),
        ("?u=%2F%3Fv=%252F%253Fsig%253DsEcReT", "?u=***"),
        ("?u=https%3A%2F%2Fh%2F%3Fa%3D1%26b%3D2", "?u=https%3A%2F%2Fh%2F%3Fa%3D1%26b%3D2"),
    ])
    func queryValuesThatContainASecretAreMasked(_ query: String, _ shown: String) {
        #expect(query.maskingSecretsInQuery == shown)
    }

    @Test(arguments: [
        "https://h/token=1/a.png", "https://h/?", "https://h/?size=64&author=me&monkey=1&design=2",
        "https://h/?term=secret&country=de&&x", "https://h/?keyboard=1&assign=2&v=token", "",
        "key=1",
    ])
    func otherQueryValuesAreNotMasked(_ url: String) {
        #expect(url.maskingSecretsInQuery == url)
    }

    @Test func aWholeQueryCanBeMasked() {
        #expect("https://h/a?b=c&d?e".maskingQuery == "https://h/a?***")
        #expect("https://h/a".maskingQuery == "https://h/a")
    }
}
