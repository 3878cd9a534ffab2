-- SPDX-License-Identifier: Apache-2.0
-- What Idemkey knows about idempotency keys: one row per key, from its claim until it expires.
-- Flyway and Liquibase take this file as it is. PostgreSQL 14 or newer.

CREATE TABLE IF NOT EXISTS idempotency_key (
    scope            varchar(64)  NOT NULL,                -- whose key it is: a hash of the caller
    key              varchar(255) NOT NULL,
    request_hash     varchar(64)  NOT NULL,                -- SHA-256 of the request, in hexadecimal digits
    claim_token      uuid         NOT NULL,                -- tells the current claim from all others
    attempt          int          NOT NULL DEFAULT 1,      -- how often the handler may have started
    joined           boolean      NOT NULL DEFAULT false,  -- a lapse means that nothing was committed
    confirmed        boolean      NOT NULL DEFAULT false,  -- the business transaction was committed
    lease_until      timestamptz,                          -- a sign of life is due by then
    response_code    int,                                  -- null while in flight
    response_headers jsonb,                                -- [["Name", "value"], ["Name", "value", true], ...]
    response_body    bytea,                                -- null where the answer was not kept
    created_at       timestamptz  NOT NULL DEFAULT now(),
    expires_at       timestamptz  NOT NULL,
    CONSTRAINT idempotency_key_pkey PRIMARY KEY (scope, key)
) WITH (fillfactor = 70);                                  -- room for the completion on the claim's own page

CREATE INDEX IF NOT EXISTS idempotency_key_expires_at ON idempotency_key (expires_at);
