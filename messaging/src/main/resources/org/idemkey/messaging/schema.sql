-- SPDX-License-Identifier: Apache-2.0
-- What Idemkey knows about messages: those to be sent, and those that were processed.
-- Flyway and Liquibase take this file as it is. PostgreSQL 14 or newer.

CREATE TABLE IF NOT EXISTS outbox (
    id             uuid         NOT NULL,                  -- what consumers know a repetition by
    position       bigint       GENERATED ALWAYS AS IDENTITY, -- order of appending; its sequence must have no cache
    aggregate_type varchar(100) NOT NULL,                  -- decides the topic
    aggregate_id   varchar(200) NOT NULL,                  -- the message's key; order is kept within type and id
    event_type     varchar(100) NOT NULL,
    payload        jsonb        NOT NULL,
    created_at     timestamptz  NOT NULL DEFAULT now(),
    published_at   timestamptz,                            -- null until the broker has acknowledged it
    CONSTRAINT outbox_pkey PRIMARY KEY (id)
);

-- As short as what waits is, however long the table.
CREATE INDEX IF NOT EXISTS outbox_unpublished ON outbox (position) WHERE published_at IS NULL;

-- For retention, which removes published events only.
CREATE INDEX IF NOT EXISTS outbox_published_at ON outbox (published_at) WHERE published_at IS NOT NULL;

CREATE TABLE IF NOT EXISTS processed_message (
    consumer_name varchar(100) NOT NULL,
    message_key   varchar(200) NOT NULL,
    processed_at  timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT processed_message_pkey PRIMARY KEY (consumer_name, message_key)
);

CREATE INDEX IF NOT EXISTS processed_message_processed_at ON processed_message (processed_at);
