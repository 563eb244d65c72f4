import { Alert, Button, Checkbox, Group, Modal, Select, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import { CopyText } from '../ui/copy-text';
import { InstancesSelect } from '../ui/instance-select';
import { ProblemAlert } from '../ui/problem-alert';

const DAY_MS = 86_400_000;
const LIFETIMES = { never: null, month: 30, quarter: 90, year: 365 } as const;
type Lifetime = keyof typeof LIFETIMES;

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
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<string[]>([...access.scopes]);
  const [instances, setInstances] = useState<string[]>([]);
  const [lifetime, setLifetime] = useState<Lifetime>('never');
  const creation = useMutation({
    mutationFn: () => {
      const days = LIFETIMES[lifetime];
      const body = {
        name: name.trim(),
        scopes,
        instance_ids: instances.length === 0 ? null : instances,
        expires_at: days === null ? null : new Date(Date.now() + days * DAY_MS).toISOString(),
      };
      return takeData(api.POST('/console/api/keys', { body }));
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: [id, 'keys'] }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    creation.mutate();
  };
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
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t('common.name')}
          description={t('keys.nameHelp')}
          required
          data-autofocus
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Checkbox.Group label={t('keys.scopes')} value={scopes} onChange={setScopes}>
          <Stack gap="xs" mt="xs">
            {access.scopes.map((scope) => (
              <Checkbox key={scope} value={scope} label={scope} description={t(`scopes.${scope}`)} />
            ))}
          </Stack>
        </Checkbox.Group>
        <InstancesSelect description={t('keys.numbersHelp')} value={instances} onChange={setInstances} />
        <Select
          label={t('keys.lifetime')}
          data={(Object.keys(LIFETIMES) as Lifetime[]).map((value) => ({
            value,
            label: t(`keys.lifetimes.${value}`),
          }))}
          value={lifetime}
          onChange={(value) => value !== null && setLifetime(value)}
          allowDeselect={false}
        />
        <ProblemAlert error={creation.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={creation.isPending} disabled={scopes.length === 0}>
            {t('common.create')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
