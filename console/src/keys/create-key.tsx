import { Alert, Button, Group, Modal, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import { CopyText } from '../ui/copy-text';
import { KeyForm, type NewKey } from './key-form';

const DAY_MS = 86_400_000;

export function CreateKey({ opened, close }: { opened: boolean; close: () => void }) {
  const { t } = useTranslation();
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={t('keys.new')}
      size="lg"
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common.close') }}
    >
      <CreateKeyForm close={close} />
    </Modal>
  );
}

function CreateKeyForm({ close }: { close: () => void }) {
  const { t } = useTranslation();
  const { id, api, access } = useAccount();
  const queries = useQueryClient();
  const creation = useMutation({
    mutationFn: ({ days, ...key }: NewKey) => {
      const expires_at = days === null ? null : new Date(Date.now() + days * DAY_MS).toISOString();
      return takeData(api.POST('/console/api/keys', { body: { ...key, expires_at } }));
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: [id, 'keys'] }),
  });
  if (creation.data) {
    return (
      <Stack>
        <Alert color="teal" title={t('keys.created')} role="status">
          {t('common.shownOnce')}
          <CopyText text={creation.data.api_key} />
        </Alert>
        <Group justify="flex-end">
          <Button onClick={close}>{t('common.close')}</Button>
        </Group>
      </Stack>
    );
  }
  return (
    <KeyForm
      initial={{ name: '', scopes: access.scopes, lifetime: 'never' }}
      label={t('common.create')}
      attempt={creation}
    >
      <Button variant="default" onClick={close}>
        {t('common.cancel')}
      </Button>
    </KeyForm>
  );
}
