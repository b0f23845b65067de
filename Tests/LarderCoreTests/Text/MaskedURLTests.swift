import Testing

@Suite struct MaskedURLTests {
    @Test(arguments: [
        ("http://me:pw@h/a", "http://***@h/a"), ("http:/me:pw@h/a", "http:/***@h/a"),
        ("http:\\\\me:pw@h", "http:\\\\***@h"), ("//me:pw@h/a", "//***@h/a"),
        ("me:pw@h", "***@h"), ("http://me:pw@[h?t=pw", "http://***@[h?***"), ("a?t=pw", "a?***"),
        ("http://me:p/w@h/", "http://***@h/"),
        ("http://me:p@w@[h", "http://***@[h"), ("a.png", "a.png"), ("", ""), ("@", "***@"),
    ])
    func possibleSecretsInURLsAreMasked(_ text: String, _ masked: String) {
        #expect(text.maskingSecrets == masked)
    }

    @Test(arguments: [
        ("http://me:pw@h/a", "http://h/a"), ("s3://me@h", "s3://h"), ("//me@h/a", "//h/a"),
        ("http://h/a@b", "http://h/a@b"), ("http://h?a@b", "http://h?a@b"),
        ("logo@2x", "logo@2x"), ("icons/logo@2x.png", "icons/logo@2x.png"), ("", ""),
    ])
    func userinfoIsRemovedFromKeysThatAreURLs(_ key: String, _ stored: String) {
        #expect(key.removingUserinfo == stored)
    }
}
