import Foundation

/// Icons in formats too complex for an encoder here. They were painted by ``IconPainter`` and
/// encoded with cwebp (libwebp 1.2.4), avifenc (libavif 0.11.1) and heif-enc (libheif 1.15.1).
extension IconPainter {
    /// A lossless WebP of 64 × 64 pixels.
    public static let webp = bytes(
        """
        UklGRuIBAABXRUJQVlA4TNUBAAAvP8APEE/BppEkR3X3DvXjeywfXegNDaaRbTvZHwid0S6lIHHo5HiKyCqSpFZd\
        fOEA/y6QgRB4OUeEbCSpCINy/hSPsgYf0K7r93htvxG/5VPXz/hvfaN9p3+axCPq8Sn9rMWrLcFTIgzDMDw8DMPS\
        VSGEcDiEELqG5huLfB7eOUk5W2kFV5Ikqcp7uMNz13l6/xPqyjTwHdF/B24jKVKyOWbs+YLxTww91/owaLleqIZv\
        fxi1fTmR82HWiSQE1oddKxD3QfhORedakKiOtziYiMrtHaEiytbYsKhaf1whbUwWPGCUL7jAqFiwgFG9wJ9YJe6X\
        g6ns4XKf0uVxMjU9vzR57Ext9y850jg2HU4mi2cN7iaTT3UuXFzVOXBxVMdk8wdo2raRPYB+GHpGmm62ET+Afpzt\
        +WgXWvEDGBYGPPgj33OR3//c4b83+O8t/ncD/ruF/92E/27D/zeg/1vH63xrKigo4EZymRAF4i0IxJu2gXgTbWJD\
        Za5YB2I1V6xixFKYahirV3ObwlCknXRu8xRmKr4ol8ytb+I3Wc/NuKrN3A6Lsu26AVUpWrdgqmPRugkSpYbItAYc\
        nhIbl+zXiA2pWcV6r5mhZJIXLDddF3li/BENAA==
        """)

    /// An extended WebP of 64 × 64 pixels: lossy, with an alpha channel.
    public static let webpLossy = bytes(
        """
        UklGRqICAABXRUJQVlA4WAoAAAAQAAAAPwAAPwAAQUxQSJEAAAABV0CQbRs6Qk2+iIgdBXBi27bTXDoSi0OjsDhG\
        keb7EFDRcVlxyPS8aVLPWsiIiP4TSNq4Dn8HzaNs+7PRmoU7oPrapC5+T/KxidVO180mV3YUBvJaVyJtfYhaUmUo\
        XzozsXRncunFbKQ3c5J+TCMZ7P8B3zW+i3xX+S7zXee/gH+F/xL/NfyL/FfxL/Nfn0UCAFZQOCDqAQAA0A0AnQEq\
        QABAAD6ZPplIJaMioTH1XJCwEwlsAMctwP6r0kFbPAchfAnztTmNsx5gP1N/W73yfQfz1XsgegB0uK/A0gTMyQsG\
        Gj+VDo9rKlLEV4T53vKlfJs6wxcus6DL1K0wKmqJs/lelPwxfVIOP5IXD7VHFJwA/uSDF2NI+KSzkP8jy+GpKgH0\
        ++atzfOJEqOVXQfx/wb/HfzCZpvAju00GqcYCjUeWtKWez+j3G/fmDrsOGx/GcMA6XR4cnIM7ePNwuAvU5526yBZ\
        q5bp1HzUKkBQOs2gtZ/9ozMaCGofI/FeJTsyeGj6eA129UlS3WaHsgIwYDa9HPl5EYgGbVkd5jzhLjMsbhj4xkKN\
        k6iziIcDbbkEXhuvnRpuSftfdXAaWDbzV5QpRZoKDWP6DSPmVTfsRL2Nwi6N8s5wCmMMej5uq7LS1cXAtoNrfyff\
        vs5xWcWNUdLRJp+gqyLeVJPKWOYd1ph+y8iGQyl3nUtTeid9X5Y78GYIp/Mb6wY92ZnxccjCHW2EQgOnQx4yQ0d3\
        r51YEqSNB9bHd0QXkJAd+UNYgOJg3ykELE3ONv6x/jex82hJTv2//J90NLWzh8uZ5xtlXGq99ahzPrIb0vB2nXXd\
        SJD0Y6rnskZmX4GtUhuf+9DDMAXAAA==
        """)

    /// An AVIF of 64 × 64 pixels with an alpha channel.
    public static let avif = bytes(
        """
        AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUEAAAGNbWV0YQAAAAAAAAAoaGRscgAAAAAAAAAAcGljdAAA\
        AAAAAAAAAAAAAGxpYmF2aWYAAAAADnBpdG0AAAAAAAEAAAAsaWxvYwAAAABEAAACAAEAAAABAAAClgAAAgsAAgAA\
        AAEAAAG1AAAA4QAAAEJpaW5mAAAAAAACAAAAGmluZmUCAAAAAAEAAGF2MDFDb2xvcgAAAAAaaW5mZQIAAAAAAgAA\
        YXYwMUFscGhhAAAAABppcmVmAAAAAAAAAA5hdXhsAAIAAQABAAAAw2lwcnAAAACdaXBjbwAAABRpc3BlAAAAAAAA\
        AEAAAABAAAAAEHBpeGkAAAAAAwgICAAAAAxhdjFDgSAAAAAAABNjb2xybmNseAABAA0ABoAAAAAOcGl4aQAAAAAB\
        CAAAAAxhdjFDgQAcAAAAADhhdXhDAAAAAHVybjptcGVnOm1wZWdCOmNpY3A6c3lzdGVtczphdXhpbGlhcnk6YWxw\
        aGEAAAAAHmlwbWEAAAAAAAAAAgABBAECgwQAAgQBBYYHAAAC9G1kYXQSAAoGGBV//5VAMtQBRAAA3pG7hTI/QBRw\
        IN+kxI9tipGMqHX3U77XYgvdiVyOtGr94zuJ1egQTputH+DZ3eM/AOnyS+dDoV0Eo6UNmDrsu6APg9kYNcK39fVW\
        n4kdkwMka7XA++tMdkhE6HaLjlphi/bJIgK/4hF2Uwor1XR2zwzc7TLJv2f4uZsdIT/rK4uxjZokzpdRQRbnb6SY\
        Uh/L5bDd7/yRUPiiEzgxnFxzkR56/C7DcWkpq6bAT44Uqi8lzyd5dtb41Z4dcXA+8SKQOBB+FLHzSnOGgV2S5IDK\
        o+ASAAoJOBV//5QENBpAMvsDRbADhCBBfoCixqpPVt6cF7U/WY/s0U5xT3CpwP/KV4gNH/Ky3SV0tnZZK2EyvwpD\
        hVEwiOy5q7S5Q4Bj8XMJKHMcbmnjIS4Co8q/co1aXdKPNNrYnWO1v6l/3E6REgi2UMDJhO171KhlRPofHY/v/Eol\
        5tOgdaD73w9+cUadAOoME+VJuzEHGjVMquIbpO6zYF+GR3MZLrfqbrJ7M26RpXuC4KDlGERcud+IClZyvgzTSuo8\
        HcBpO33VqeaXAVV03BzeuukWhJN0qt3CxgW1cULu6yxvIbKbZj1qdmLt8WCLTcoCFDAWKA4FEqp0k+GEmy7zLKGn\
        rC6f7IfTShHdMpdkJjjXjXVpd/FxVDaNGL5rw46+RvXss2Eg5sWaqSAAOrTH6wiLzfvCUfyxlzZM//KCfffAnor3\
        zcMlZvIcd/Tp2lXhB5MZv5Hpd/m63ZxxafdlRvfXs4pZ3lRmcK4w7lDX7+RoE06B9uVqxACsAaWS47ygy5+QfBIt\
        XFizKyBtfCD2vJBB3fxQ9rJY0J9JcJpZtcHt7kHVQ06U2ZPXOtBl7KC6drhvaiYp7fpmZc4bj0+hX8MvoguiExo8\
        3wffkAB2TNs7UiDtex2GNSDntCLFsuDWA5y6E4vDhv8NqeDqLK9UnRswpGCqReKfku2rBkmKxWRQn5OfbD/k
        """)

    /// A HEIC of 64 × 64 pixels with an alpha channel.
    public static let heic = bytes(
        """
        AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAkVtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAA\
        AAAAAAAAAAAAAA5waXRtAAAAAAABAAAANGlsb2MAAAAAREAAAgABAAAAAAJpAAEAAAAAAAABVwACAAAAAAPAAAEA\
        AAAAAAAAtwAAADhpaW5mAAAAAAACAAAAFWluZmUCAAAAAAEAAGh2YzEAAAAAFWluZmUCAAAAAAIAAGh2YzEAAAAB\
        hGlwcnAAAAFfaXBjbwAAAHhodmNDAQNwAAAAAAAAAAAAHvAA/P34+AAADwMgAAEAGEABDAH//wNwAAADAJAAAAMA\
        AAMAHroCQCEAAQArQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbqSSmubgQEDAgAAAMACAAAAwAIQCIAAQAHRAHBcrAi\
        QAAAABRpc3BlAAAAAAAAAEAAAABAAAAAEHBpeGkAAAAAAwgICAAAAHJodmNDAQQIAAAAAAAAAAAAHvAA/Pz4+AAA\
        DwMgAAEAF0ABDAH//wQIAAADAJ/4AAADAAAeugJAIQABACZCAQEECAAAAwCf+AAAAwAAHsCCBBZbqSSmubAgAAAD\
        ACAAAAMAISIAAQAHRAHBcrAiQAAAABRpc3BlAAAAAAAAAEAAAABAAAAADnBpeGkAAAAAAQgAAAAnYXV4QwAAAAB1\
        cm46bXBlZzpoZXZjOjIwMTU6YXV4aWQ6MQAAAAAdaXBtYQAAAAAAAAACAAEDgQKDAAIEhAWGhwAAABppcmVmAAAA\
        AAAAAA5hdXhsAAIAAQABAAACFm1kYXQAAAFTKAGvLpj+PeEgBJS1jnfbEvOK5eWYpH07V76c3Pj+JGKdKcFQV2TO\
        x2Sj/mzTSHygxGg9T7GlJg7JZF5YP09yd7BVUUKtIMXRnKAn4vUWWBccY9Tpv5fv+xm3On/FNhenYsqmx9kSTBNy\
        gOdP/PKM1yqepx5hiMrs52vaAQg/nLzDWBZNTdbIKDvuZLSmabspE4eeqSiJtkxT71F6BSIu2sBZhwzgEv08/MAz\
        Xr5dsODz6gQpsJ6WQXxyy3muOTKxAK5DX9PONpkNVhQV4dDo0vu9VNmHSdBnvOLbLn9vD926HMCcCiLqA/Mq+J64\
        MoCsvVc6AbWoFjSBqLoXvTA0MXksvUWqSLr85fXoGNTHu1PFSmjiX1EkplDcE6dxOWGkrpqg1GcoT/TJ4jfXzGWB\
        6Q28OAcVyvvBntPuAxI/jMv4Uf9zA7K2Jna/vIXZR7Vrn2PAAAAAsygBrlw+rfuoM2klLndLoVZfal3xfNHogvhT\
        H5Fnn+b/u2Wbf3p+HM0jjpQjMSsEFrELbKE+z+lFXL7ARH8uN4r2tJdqbCJEkwHV24vavGnp9IHzlCkvlxlmNSvy\
        4w+K0ABH1JCZUNMzJs7+UmR2H1CdeCP428I+BphW70si4s07Oq42cnBBXfhEk9fyxoDL4yfZ8V7LpGyZoHNzUpa4\
        m4yS681ovhD3qRJHgRMgB4LE8fyA
        """)

    private static func bytes(_ base64: String) -> [UInt8] {
        Data(base64Encoded: base64).map { Array($0) } ?? []
    }
}
