import Testing

struct ContentGuessTests: ImageTests {
    @Test(arguments: [
        ("<!DOCTYPE html><html></html>", "an HTML page"), ("\n <HTML><BODY>", "an HTML page"),
        ("\u{FEFF}<html lang='en'>", "an HTML page"), ("<script>a</script>", "an HTML page"),
        ("<!-- hello --><html>", "an HTML page"), ("<?xml version='1.0'?><html/>", "an HTML page"),
        ("<?xml version='1.0'?>", "an XML document"),
        ("<p>unclosed", "markup"), ("{\"error\": 404}", "JSON"), ("[]", "JSON"),
        ("Not found", "plain text"), ("Über uns", "plain text"), (" \n", "only white space"),
        ("HTTP/1.1 200 OK", "an HTTP message"), ("%PDF-1.7", "a PDF document"),
        ("icnsxxxx", "an unsupported Apple icon family (icns)"),
        ("PK\u{3}\u{4}", "a ZIP archive"), ("\u{7F}ELF", "an ELF program"),
        ("OggS", "an Ogg file"), ("RIFF\u{8}\0\0\0WAVE", "a RIFF file"),
    ])
    func textIsDescribedAndNotAnImage(content: String, phrase: String) {
        #expect(fault(content)?.message.hasPrefix(phrase) == true)
        #expect(fault(content)?.code == .notAnImage)
        #expect(fault(content)?.mediaType == nil)
    }

    @Test(
        arguments: [
            ([0x1F, 0x8B, 8, 0], "gzip data"), ([0, 0, 0, 0], "only zero bytes"),
            ([0x61, 0x7F], "unknown binary data"), ([0x28, 0xB5, 0x2F, 0xFD], "Zstandard data"),
            ([1, 2, 3, 200], "unknown binary data"),
            ([0x49, 0x49, 0x2A, 0], "an unsupported TIFF file"),
            ([0xFF, 0xFE, 0x3C, 0, 0x68, 0, 0x74, 0, 0x6D, 0, 0x6C, 0, 0x3E, 0], "an HTML page"),
            ([0x80, 0x81, 0x82, 0x83, 0x84], "unknown binary data"),
        ] as [([UInt8], String)])
    func binaryDataIsDescribedAndNotAnImage(content: [UInt8], phrase: String) {
        #expect(fault(content)?.message == "\(phrase), not an image")
    }

    @Test func emptyContentIsReported() {
        #expect(fault([])?.code == .empty)
        #expect(fault([])?.message == "0 bytes")
    }
}
