#ifndef LARDER_COPENSSL_SHIM_H
#define LARDER_COPENSSL_SHIM_H

#include <openssl/err.h>
#include <openssl/ssl.h>

#endif
