import LarderHTTP
import Testing

struct S3LocationTests {
    @Test(arguments: [
        ("s3://abc", "abc", ""), ("s3://abc/", "abc", ""), ("s3://a.b-c.9/x", "a.b-c.9", "x/"),
        ("s3://abc/x/", "abc", "x/"), ("s3://abc/a-b.c_d~e/UPPER", "abc", "a-b.c_d~e/UPPER/"),
        ("s3://abc/...", "abc", ".../"),
    ])
    func s3LocationsAreParsed(_ text: String, _ bucket: String, _ prefix: String) throws {
        let location = try S3Location(text)
        #expect(location.bucket == bucket && location.prefix == prefix)
        #expect(try S3Location("\(location)") == location)
    }

    @Test(arguments: [
        "", "abc", "s3:abc", "S3://abc", "s3://", "s3:///x", "s3://ab", "s3://Abc", "s3://a_b",
        "s3://.abc", "s3://abc.", "s3://a..b", "s3://abc//", "s3://abc//x", "s3://abc/x//y",
        "s3://abc/.", "s3://abc/../x", "s3://abc/x y", "s3://abc/x%20y", "s3://abc/x?y",
        "s3://abc/x#y", "s3://abc/x+y", "s3://abc/é", "s3://abc/\u{301}x", "s3://abc/x\n",
        "s3://user:secret@abc", "s3://abc:80", "https://abc.s3.amazonaws.com/x",
        "s3://" + String(repeating: "a", count: 64),
        "s3://abc/" + String(repeating: "a", count: 600),
    ])
    func invalidS3LocationsAreRefused(_ text: String) {
        let error = #expect(throws: S3SettingsError.self) { try S3Location(text) }
        #expect(error?.description.hasPrefix("expected") == true)
    }
}
