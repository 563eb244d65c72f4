CREATE OR REPLACE FUNCTION gwk_menu_facts(menu menus) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('message_id', menu.message_id, 'wa_message_id', menu.wa_message_id, 'kind', menu.kind,
    'mode', menu.mode, 'options', encode(menu.options_sealed, 'base64'),
    'sent_at', extract(epoch FROM menu.sent_at) * 1000, 'answered', menu.answered_at IS NOT NULL)
$$;
