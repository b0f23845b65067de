import LarderCore
import LarderHTTP
import Testing

@Suite struct TransferErrorTests {
    @Test func errorCodesAreLowercaseWords() {
        for code in TransferError.Code.allCases {
            #expect(code.rawValue.wholeMatch(of: /[a-z]+(-[a-z]+)*/) != nil)
        }
    }

    @Test func controlCharactersInAnErrorMessageAreEscaped() {
        let error = TransferError(
            .certificate, "name '\u{1B}[31mred\u{7}\n\u{9B}1m\u{202E}' – ü")
        #expect(error.message == #"name '\u{1B}[31mred\u{7}\n\u{9B}1m\u{202E}' – ü"#)
    }

    @Test func anErrorDescriptionHidesTheCredentialsOfItsURL() throws {
        let url = try HTTPURL("https://me:secret@example.com/a")
        let error = TransferError(.timeout, url: url, "too late")
        #expect("\(error)" == "https://***@example.com/a: too late")
        #expect("\(TransferError(.other, "no memory"))" == "no memory")
    }
}
