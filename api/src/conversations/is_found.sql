-- Whether a search finds a conversation (gwk_conversations_of_instances). The forms of `digits` are those of a whole number:
-- to compute the forms of each stored number would take longer than all other steps.
CREATE OR REPLACE FUNCTION gwk_is_found(v conversations, needle text, digits text) RETURNS boolean LANGUAGE sql STABLE
AS $$
  SELECT CASE WHEN v.contact_id IS NULL THEN strpos(gwk_fold_name(v.subject), needle) > 0
    ELSE strpos(lower(v.username), needle) > 0
      OR (SELECT strpos(c.folded_name, needle) > 0 FROM contacts c WHERE c.id = v.contact_id)
      OR (digits IS NOT NULL AND CASE WHEN v.lid IS NOT NULL
        THEN strpos(v.phone, digits) > 0 OR v.phone = ANY (string_to_array(gwk_phone_forms(digits), ' '))
        ELSE EXISTS (
          SELECT FROM contact_names n
          WHERE n.contact_id = v.contact_id AND position('@' IN n.name) = 0 AND (strpos(n.name, digits) > 0
            OR strpos(n.phone, digits) > 0 OR n.name = ANY (string_to_array(gwk_phone_forms(digits), ' ')))) END)
    END IS TRUE
$$;
