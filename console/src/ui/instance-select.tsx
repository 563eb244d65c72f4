import { MultiSelect, Select } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useInstances } from '../numbers/queries';

interface InstanceSelectProps {
  value: string | null;
  onChange: (value: string | null) => void;
  /** A choice is necessary; otherwise no choice means all numbers. */
  required?: boolean;
}

export function InstanceSelect({ value, onChange, required = false }: InstanceSelectProps) {
  const { t } = useTranslation();
  return (
    <Select
      label={t('common.number')}
      placeholder={required ? undefined : t('common.allNumbers')}
      data={useInstanceOptions()}
      value={value}
      onChange={onChange}
      required={required}
      clearable={!required}
      searchable
      limit={50}
    />
  );
}

interface InstancesSelectProps {
  description: string;
  value: string[];
  onChange: (value: string[]) => void;
}

/** Several numbers; none means all. */
export function InstancesSelect({ description, value, onChange }: InstancesSelectProps) {
  const { t } = useTranslation();
  return (
    <MultiSelect
      label={t('common.numbers')}
      description={description}
      placeholder={value.length === 0 ? t('common.allNumbers') : undefined}
      data={useInstanceOptions()}
      value={value}
      onChange={onChange}
      searchable
      clearable
      limit={50}
    />
  );
}

const useInstanceOptions = () =>
  (useInstances().data ?? []).map(({ id, name }) => ({ value: id, label: name }));

/** The name of an instance, or its id while the list is unknown. */
export function useInstanceName(): (id: string) => string {
  const instances = useInstances().data;
  return (id) => instances?.find((instance) => instance.id === id)?.name ?? id;
}
