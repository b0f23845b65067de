import LarderTestSupport

struct Options {
    static let usage = """
        usage: sample-origin [--port NUMBER] [--directory DIR] [--ready-file FILE] [--until-eof]
               sample-origin --write-samples DIR

        Serves DIR/icons (default: manifests/icons) at http://127.0.0.1:8642/icons/ and
        http://localhost:8642/icons/ until it is interrupted.

          --port NUMBER        use another port; with 0, the system chooses one
          --ready-file FILE    write the origin's URL to FILE while it listens
          --until-eof          also stop at the end of standard input
          --write-samples DIR  write the sample manifests and icons, and serve nothing

        """

    var port = SampleManifests.port
    var directory = "manifests"
    var readyFile: String?
    var endsWithInput = false
    var samples: String?

    /// Returns nil if the arguments are not valid.
    init?(_ arguments: some Sequence<String>) {
        var arguments = arguments.makeIterator()
        while let name = arguments.next() {
            if name == "--until-eof" {
                endsWithInput = true
                continue
            }
            guard let value = arguments.next() else { return nil }
            switch name {
            case "--port":
                guard let number = UInt16(value) else { return nil }
                port = number
            case "--directory": directory = value
            case "--ready-file": readyFile = value
            case "--write-samples": samples = value
            default: return nil
            }
        }
    }
}
