import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { useAccount } from '../app/account';
import { ProblemAlert } from '../ui/problem-alert';
import type { components } from '../generated/api';
import { SavedNote } from '../ui/saved-note';

export type AlertContact = components['schemas']['AlertContactOut'];

/** The code that a new contact received. */
export function VerifyForm({ contact }: { contact: AlertContact }) {
  const { t } = useTranslation();
  const { id, api } = useAccount();
  const queries = useQueryClient();
  const [code, setCode] = useState('');
  const params = { path: { contact_id: contact.id } };
  const verify = useMutation({
    mutationFn: () =>
      api.POST('/console/api/alert-contacts/{contact_id}/verify', { params, body: { code: code.trim() } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: [id, 'alert-contacts'] }),
  });
  const resend = useMutation({
    mutationFn: () => api.POST('/console/api/alert-contacts/{contact_id}/code', { params }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    verify.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs" align="flex-start">
        <Group gap="xs" align="flex-end" wrap="nowrap">
          <TextInput
            label={t('alertContacts.codeOf', { name: contact.name })}
            inputMode="numeric"
            autoComplete="off"
            required
            w={150}
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
          />
          <Button type="submit" loading={verify.isPending}>
            {t('alertContacts.verify')}
          </Button>
        </Group>
        <Button variant="subtle" size="compact-sm" loading={resend.isPending} onClick={() => resend.mutate()}>
          {t('alertContacts.resend')}
        </Button>
        <ProblemAlert error={verify.error ?? resend.error} />
        <SavedNote shown={resend.isSuccess} text={t('alertContacts.resent')} />
      </Stack>
    </form>
  );
}
