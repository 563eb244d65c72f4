CREATE OR REPLACE FUNCTION gwk_menu_facts(menu menus) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('messageId', menu.message_id, 'waMessageId', menu.wa_message_id, 'kind', menu.kind,
    'mode', menu.mode, 'options', encode(menu.options_sealed, 'base64'),
    'sentAt', extract(epoch FROM menu.sent_at) * 1000, 'answered', menu.answered_at IS NOT NULL)
$$;
