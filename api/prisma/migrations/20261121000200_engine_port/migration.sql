-- The SQL of the internal port: leases, claims, outcomes, what engines receive.
--
-- Locks are taken in one order by everything that touches the queue: leases by instance, ledgers by instance,
-- conversations by id, outbox, messages by id. An entry of the outbox changes only under the lock of its
-- conversation. None of these functions waits for a client while it holds a lock: each is one statement.

-- The name a contact is best known by: the phone where it is known, else the hidden id.
CREATE FUNCTION gwk_contact_name(contact uuid) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT n.name FROM contact_names n WHERE n.contact_id = contact
  ORDER BY position('@' IN n.name) > 0, n.name LIMIT 1
$$;

-- Gives the head of the queue to the first waiting entry of each conversation that has none. The caller holds the
-- locks of the conversations.
CREATE FUNCTION gwk_promote_heads(conversations uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE outbox o SET head = true, turn_at = now()
  FROM unnest(conversations) AS c(id)
  CROSS JOIN LATERAL (
    SELECT e.message_id, e.head FROM outbox e
    WHERE e.conversation_id = c.id AND e.seq IS NOT NULL
    ORDER BY e.seq LIMIT 1
  ) AS next
  WHERE o.message_id = next.message_id AND NOT next.head;
END $$;
