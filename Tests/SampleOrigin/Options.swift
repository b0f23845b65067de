import LarderTestSupport

/// What the command line asks for.
struct Options {
    static let usage = """
        usage: sample-origin [--port NUMBER] [--directory DIR] [--ready-file FILE] [--until-eof]
               sample-origin --write-samples DIR

        Serves DIR/icons (default: manifests/icons) at http://127.0.0.1:8642/icons/ and
        http://localhost:8642/icons/ until it is interrupted.

          --port NUMBER        another port; 0: the system chooses
          --ready-file FILE    holds the origin's URL from when it listens until it ends
          --until-eof          ends with its standard input, too
          --write-samples DIR  writes the sample manifests and icons anew, and serves nothing

        """

    var port = SampleManifests.port
    var directory = "manifests"
    var readyFile: String?
    var endsWithInput = false
    var samples: String?

    /// nil where the arguments are not understood.
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
