import LarderTestSupport
import Testing

@testable import LarderCache

@Suite struct CacheControlTests {
    @Test(arguments: [
        ("max-age=3600", 3600), ("MaX-AgE=3600", 3600), ("max-age=003600", 3600),
        ("public , max-age=600,immutable", 600), (",, ,max-age=600,,", 600),
        ("\tmax-age=600\t", 600), ("a-token, max-age=600, other=value", 600),
        // An argument is a token or a quoted string (RFC 9111, section 5.2).
        ("max-age=\"3600\"", 3600), ("max-age=\"36\\00\"", 3600),
        // The first directive counts.
        ("max-age=1800, max-age=1", 1800), ("max-age=1, max-age=1800", 1),
        ("max-age=soon, max-age=1800", 0),
        // Quoted text is not a directive.
        ("extension=\"max-age=3600\", max-age=1", 1), ("max-age=1, extension=\"max-age=3600\"", 1),
        ("extension=\"a, max-age=3600\", max-age=1", 1),
        ("extension=\"a\\\", max-age=3600\", max-age=1", 1),
        ("\"max-age=3600\", max-age=1", 1),
        // Without a valid number of seconds, the response is stale.
        ("max-age", 0), ("max-age=", 0), ("max-age=\"\"", 0), ("max-age =3600", 0),
        ("max-age= 3600", 0), ("max-age='3600'", 0), ("max-age=3600.0", 0),
        ("max-age=3600.5", 0), ("max-age=a3600", 0), ("max-age=3600a", 0), ("max-age=-1", 0),
        ("max-age=+1", 0), ("max-age=1e3", 0), ("max-age=inf", 0), ("max-age=nan", 0),
        ("max-age=0x10", 0), ("max-age 3600", 0), ("max-age=١", 0), ("max-age=3600;x", 0),
    ])
    func maxAgeIsParsed(_ field: String, _ seconds: Int) {
        #expect(CacheControl(field).maxAge == seconds)
    }

    @Test(arguments: [
        nil, "", ",", " , ", "no-transform", "s-maxage=3600", "x-max-age=3600", "max-agex=3600",
        "extension=\"max-age=3600\"", "extension=\"unended, max-age=3600", "=max-age=3600", "\"",
    ])
    func maxAgeIsNilWithoutTheDirective(_ field: String?) {
        #expect(CacheControl(field).maxAge == nil)
    }

    @Test(arguments: [
        ("no-cache", true), ("No-CaChE", true), ("max-age=1 , no-cache", true),
        ("no-cache=\"Set-Cookie\"", true), ("no-cache=\"A, no-store\"", true), ("no-cache=", true),
        ("no-cachee", false), ("x=\"no-cache\"", false), ("max-age=0", false),
    ])
    func noCacheIsParsed(_ field: String, _ isPresent: Bool) {
        #expect(CacheControl(field).isNoCache == isPresent)
        #expect(!CacheControl(field).isNoStore)
    }

    @Test(arguments: [
        ("no-store", true), ("nO-StOrE", true), ("no-store, max-age=0", true), ("no-store=1", true),
        ("max-age=3600, no-store, must-understand", false), ("must-understand,no-store", false),
        ("no-cache", false), ("x=\"no-store\"", false),
    ])
    func noStoreIsParsed(_ field: String, _ isPresent: Bool) {
        #expect(CacheControl(field).isNoStore == isPresent)
    }

    @Test(arguments: [
        ("immutable", true), ("max-age=600, Immutable", true), ("immutable=0", true),
        ("x=immutable", false), ("mutable", false),
    ])
    func immutableIsParsed(_ field: String, _ isPresent: Bool) {
        #expect(CacheControl(field).isImmutable == isPresent)
    }
}
