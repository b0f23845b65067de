import LarderTransfer

extension StorageError {
    /// What an answer that is an error means.
    init(_ answer: S3Exchange.Answer, subject: String) {
        let error = ErrorAnswer(answer.error)
        let status = answer.head.status
        let name = error.code.isEmpty ? "status \(status)" : error.code
        let words = error.message.isEmpty ? name : "\(name): \(error.message)"
        let region = (answer.head.headers[first: "x-amz-bucket-region"] ?? error.region).map {
            String(decoding: $0.utf8.prefix(64), as: UTF8.self)
        }
        let code = Self.code(of: status, named: error.code, hasRegion: region != nil)
        let message =
            if code == .wrongRegion {
                "the bucket is in another region\(region.map { ", '\($0)'" } ?? "") (\(words))"
            } else {
                words
            }
        // Foreign text: without control characters.
        self.init(code, subject: subject, TransferError(code: .other, message: message).message)
    }

    /// What a transfer that ended early means.
    ///
    /// - Parameter isAmazons: whether the server is Amazon's because no other was named.
    init(_ error: TransferError, subject: String, isAmazons: Bool) {
        let code: Code =
            switch error.code {
            case .tooLarge: .tooLarge
            case .certificate, .tls, .proxyRefused, .addressRefused, .invalidRequest, .outOfFiles,
                .abandoned, .other:
                .refused
            case .headersTooLarge, .malformedResponse: .malformed
            case .nameNotResolved, .connectionRefused, .connectFailed, .connectTimeout, .stalled,
                .timeout, .bodyTruncated, .connectionLost, .cancelled:
                .unavailable
            }
        let isUnreachable = [
            .nameNotResolved, .connectionRefused, .connectFailed, .connectTimeout,
        ].contains(error.code)
        let hint =
            isAmazons && isUnreachable
            ? "; the server is Amazon's unless --remote-endpoint names another" : ""
        self.init(code, subject: subject, error.message + hint, underlying: error)
    }

    private static func code(of status: Int, named name: String, hasRegion: Bool) -> Code {
        switch (status, name) {
        case (_, "NoSuchBucket"): .noBucket
        case (_, "QuotaExceeded"), (_, "InsufficientStorage"), (_, "XMinioStorageFull"), (507, _):
            .full
        // Amazon adds the right region if that is what is wrong with the field.
        case (_, "AuthorizationHeaderMalformed"): hasRegion ? .wrongRegion : .accessRefused
        case (_, "PermanentRedirect"), (_, "TemporaryRedirect"),
            (_, "IllegalLocationConstraintException"), (301, _), (307, _):
            .wrongRegion
        case (_, "ExpiredToken"), (_, "InvalidToken"), (_, "TokenRefreshRequired"): .accessRefused
        case (_, "BadDigest"), (_, "XAmzContentSHA256Mismatch"),
            (_, "XAmzContentChecksumMismatch"):
            .corrupt
        // A body that was cut on its way is no reason to give up.
        case (_, "RequestTimeout"), (_, "IncompleteBody"), (429, _): .unavailable
        // Archived: that object alone.
        case (_, "InvalidObjectState"): .refused
        // Somebody else writes the same object.
        case (_, "OperationAborted"), (_, "ConcurrentModification"): .unavailable
        case (501, _): .refused
        case (500..., _): .unavailable
        case (401, _), (403, _): .accessRefused
        case (404, _): .notFound
        default: .refused
        }
    }
}
