import Testing

@testable import LarderServer

@Suite struct PercentDecodingTests {
    @Test(arguments: [
        ("abc", "abc"), ("a%20b", "a b"), ("%68%74tp", "http"), ("a+b", "a+b"), ("%C3%A9", "é"),
        ("%252F", "%2F"), ("", ""),
    ])
    func percentEncodedTextIsDecoded(_ encoded: String, _ decoded: String) {
        #expect(PercentDecoding.text(encoded[...].utf8) == decoded)
    }

    @Test(arguments: [
        "%", "%1", "%zz", "%+1", "%00", "a%0d%0aX: y", "%7f", "%ff", "%C3", "\u{7}",
    ])
    func invalidPercentEncodedTextIsNil(_ encoded: String) {
        #expect(PercentDecoding.text(encoded[...].utf8) == nil)
    }
}
