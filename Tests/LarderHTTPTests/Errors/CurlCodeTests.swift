import LarderHTTP
import Testing

@Suite struct CurlCodeTests {
    @Test func speaksLibcurlsWords() {
        #expect(CurlCode(rawValue: 7).description.hasSuffix(" (curl 7)"))
        #expect(!CurlCode(rawValue: 12_345).description.isEmpty)
    }
}
