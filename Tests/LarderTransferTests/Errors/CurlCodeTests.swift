import LarderTransfer
import Testing

@Suite struct CurlCodeTests {
    @Test func speaksLibcurlsWords() {
        #expect(CurlCode.couldntConnect.rawValue == 7)
        #expect(CurlCode.couldntConnect == CurlCode(rawValue: 7))
        #expect(CurlCode.couldntConnect.description.hasSuffix(" (curl 7)"))
        #expect(!CurlCode(rawValue: 12_345).description.isEmpty)
    }
}
