-- LID, phone number and username of a contact as the events of an instance show them; each may be null. NULL: the instance
-- has no conversation with the contact. Before its own engine has seen a LID with a phone number, it knows one of them.
CREATE OR REPLACE FUNCTION gwk_contact_ids(contact uuid, instance uuid) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('lid', CASE WHEN v.lid IS NOT NULL OR n.phone IS NOT NULL THEN v.lid ELSE n.lid END,
    'phone', CASE WHEN v.lid IS NULL THEN n.phone ELSE v.phone END, 'username', v.username)
  FROM conversations v
  CROSS JOIN LATERAL (
    SELECT max(n.name) FILTER (WHERE position('@' IN n.name) > 0) AS lid,
      substring(gwk_contact_name(contact) FROM '^[0-9]+$') AS phone
    FROM contact_names n WHERE n.contact_id = contact
  ) AS n
  WHERE v.instance_id = instance AND v.contact_id = contact
$$;
