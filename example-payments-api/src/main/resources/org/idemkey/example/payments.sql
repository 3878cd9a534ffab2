CREATE TABLE IF NOT EXISTS payment (
    id          text        PRIMARY KEY,
    merchant    text        NOT NULL,
    amount      bigint      NOT NULL CHECK (amount > 0),
    currency    char(3)     NOT NULL,
    reference   text        NOT NULL,
    charge_id   text        NOT NULL,
    created_at  timestamptz NOT NULL
);
-- Not unique: that a merchant pays twice for one reference may be meant, and idempotency is the key's affair.
CREATE INDEX IF NOT EXISTS payment_merchant_reference ON payment (merchant, reference);

-- The ledger, as its own service would have it. Not unique either: that a payment is booked once is the idempotent
-- consumer's affair.
CREATE TABLE IF NOT EXISTS ledger_entry (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    merchant    text        NOT NULL,
    reference   text        NOT NULL,
    payment     text        NOT NULL,
    type        text        NOT NULL,
    amount      bigint      NOT NULL,  -- below zero for a refund
    currency    char(3)     NOT NULL,
    booked_at   timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS ledger_entry_merchant_reference ON ledger_entry (merchant, reference);

CREATE TABLE IF NOT EXISTS refund (
    id          text        PRIMARY KEY,
    payment_id  text        NOT NULL REFERENCES payment (id),
    amount      bigint      NOT NULL CHECK (amount > 0),
    created_at  timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS refund_payment ON refund (payment_id);

-- The books of the simulated gateway. A real one's would be out of our reach.
CREATE TABLE IF NOT EXISTS gateway_charge (
    charge_key  text        PRIMARY KEY,
    id          text        NOT NULL UNIQUE,
    amount      bigint      NOT NULL,
    currency    char(3)     NOT NULL,
    source      text        NOT NULL,
    reference   text        NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);
