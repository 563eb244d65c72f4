import { Button, Group, Modal, Select, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import { LANGUAGES, type Language } from '../i18n/setup';
import { ProblemAlert } from '../ui/problem-alert';

export function AddContact({ opened, close }: { opened: boolean; close: () => void }) {
  const { t } = useTranslation();
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={t('alertContacts.add')}
      closeButtonProps={{ 'aria-label': t('common.close') }}
    >
      <AddForm close={close} />
    </Modal>
  );
}

function AddForm({ close }: { close: () => void }) {
  const { t, i18n } = useTranslation();
  const { id, api } = useAccount();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [channel, setChannel] = useState<'email' | 'whatsapp'>('email');
  const [address, setAddress] = useState('');
  const [language, setLanguage] = useState(i18n.language as Language);
  const creation = useMutation({
    mutationFn: () =>
      takeData(
        api.POST('/console/api/alert-contacts', { body: { name: name.trim(), channel, address, language } }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: [id, 'alert-contacts'] });
      close();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    creation.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t('common.name')}
          required
          data-autofocus
          maxLength={80}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Select
          label={t('alertContacts.channel')}
          data={(['email', 'whatsapp'] as const).map((value) => ({
            value,
            label: t(`alertContacts.channels.${value}`),
          }))}
          value={channel}
          onChange={(value) => value !== null && setChannel(value)}
          allowDeselect={false}
        />
        <TextInput
          label={t(`alertContacts.addresses.${channel}`)}
          type={channel === 'email' ? 'email' : 'tel'}
          required
          value={address}
          onChange={(event) => setAddress(event.currentTarget.value)}
        />
        <Select
          label={t('alertContacts.language')}
          data={Object.entries(LANGUAGES).map(([value, label]) => ({ value: value as Language, label }))}
          value={language}
          onChange={(value) => value !== null && setLanguage(value)}
          allowDeselect={false}
        />
        <ProblemAlert error={creation.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={creation.isPending}>
            {t('alertContacts.sendCode')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
